import { receives } from "../domain/applications.ts";
import { type FilteredEvent, noReceiver, type PublishToEngine } from "../domain/deliveries.ts";
import { ownerGone } from "../domain/errors.ts";
import { idTime } from "../domain/ids.ts";
import type { ServerNotice, ServerNoticeData } from "../domain/notices.ts";
import {
  type Changed,
  type DeliveryOutcome,
  type OutcomeBatch,
  OutcomeCollector,
  type WatchedOutcomes,
} from "../domain/outcomes.ts";
import type { Broadcast, ReplicaNotification, Shares } from "../domain/replicas.ts";
import {
  allSubjects,
  type ConnectionUse,
  type Histogram,
  StatisticCounter,
  type StatisticRow,
} from "../domain/statistics.ts";
import {
  type CheckStorage,
  heldSetting,
  type OnFault,
  type Store,
  signingKeySetting,
  stalledAfterMs,
} from "../domain/store.ts";
import { isoTime, minute, second } from "../domain/time.ts";
import { systemTimers, type Timers, watchEventLoop } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import { repeating, type Service, Stops, supervise } from "../runtime/services.ts";
import { type Collector, noSpans, type SpanCounts, startTracing } from "../runtime/tracing.ts";
import { version } from "../runtime/version.ts";
import type { DataStorage, DirectoryLock, OpenStorage, WriterConflict } from "../store/data-storage.ts";
import { withEffects } from "../store/effects.ts";
import type { DataLocation } from "../store/location.ts";
import { createDispatcher, type DispatcherStats } from "./attempt.ts";
import { type MaintenanceSettings, maintenance, storingStatistics, stuckWatch } from "./maintenance.ts";
import { createNotifier, noticesOf } from "./notices.ts";
import { publishToEngine } from "./publish.ts";
import type { EndedDelivery } from "./record.ts";
import { replaying } from "./replays.ts";
import { type Sample, type SampleExchange, sampleLimits, sendSample, type WatchSample } from "./sample.ts";
import { createSender, type SenderOptions } from "./send/send.ts";
import { newSigningKey, readSigningKey } from "./signature.ts";

/** The settings of the engine. */
export interface EngineSettings extends MaintenanceSettings {
  readonly location: DataLocation;
  readonly allowPrivateWebhooks: boolean;
  /** The URL of the egress proxy; null for none. */
  readonly webhookProxy: string | null;
  /** Concurrent attempts per endpoint, unless its application sets another number. */
  readonly webhookConcurrency: number;
  /** Connections for all endpoints together. */
  readonly webhookConnections: number;
  /** The URL that notices are sent to; null for none. */
  readonly notifyUrl: string | null;
  /** The `whsec_…` that signs notices; null if only the platform's key does. */
  readonly notifySecret: string | null;
  /** The collector of spans; null if tracing is off. */
  readonly tracing: Collector | null;
  /** Whether a start holds deliveries until they are released. */
  readonly holdDeliveries?: boolean | undefined;
  /** The time limit of an attempt; by default the sender's own. */
  readonly attemptTimeoutMs?: number | undefined;
  /** How long results are gathered before they are recorded; by default the recorder's own times. */
  readonly gatherMs?: number | undefined;
}

/** The part of the server that writes and delivers: the store, the dispatcher, retention. */
export interface Engine extends PublishToEngine {
  /** Resolves when the engine has started; rejects if that failed. Earlier calls wait for it. */
  readonly started: Promise<void>;
  readonly store: Store;
  /** Enables a disabled or failing endpoint. */
  enable(applicationId: string): Promise<void>;
  /** Sends a sample to the webhook of an application; rejects with `conflict` if it has none. */
  test(applicationId: string, sample: Sample, watch?: WatchSample): Promise<SampleExchange>;
  /** Stores a notice about the server and sends it to the operator. Never rejects. */
  notify(type: ServerNotice, data: ServerNoticeData): Promise<void>;
  stats(): Promise<EngineStats>;
  readonly checkStorage: CheckStorage;
  observe(observer: EngineObserver): void;
  /** Sets which outcomes the observer gets; by default none. Never rejects. */
  watchOutcomes(watched: WatchedOutcomes): Promise<void>;
  /** Sends a message to all other replicas, with a short delay. */
  broadcast(notification: Broadcast): void;
  /** Lets attempts in progress finish for up to `graceMs`, then closes everything. */
  stop(graceMs: number): Promise<void>;
}

export interface EngineStats extends DispatcherStats {
  /** Whether deliveries are held until they are released. */
  readonly isHeld: boolean;
  /** null without replicas. */
  readonly shares: Shares | null;
  /** The use of the connections of the engine's thread; null with a data directory. */
  readonly connections: ConnectionUse | null;
  /** The event-loop delay of the engine's thread, in seconds. */
  readonly eventLoopDelay: Histogram;
  readonly spans: SpanCounts;
  /** The number of deliveries that filters have spared since the start, by the name of the event type. */
  readonly filtered: Readonly<Record<string, number>>;
}

/** The receiver of the engine's reports. */
export interface EngineObserver {
  /** Called with applications that have new events on their event stream. */
  streamed(applicationIds: readonly string[]): void;
  /** Called some times a second, while outcomes are watched, with outcomes of deliveries and with changes. */
  outcomes(batches: readonly OutcomeBatch[], changed: readonly Changed[]): void;
  /** Called with notifications of other replicas; with `missed` when earlier notifications may have been lost. */
  replicaNotification(notification: ReplicaNotification): void;
}

interface EngineOptions {
  readonly settings: EngineSettings;
  /** The data at the location that the settings name. */
  readonly data: DataStorage;
  readonly log: Log;
  readonly now: () => number;
  /** A clock that is never set, in milliseconds. */
  readonly monotonic: () => number;
  readonly random: () => number;
  /** The timers of all waits but those for connections and answers; by default the system's. */
  readonly timers?: Timers | undefined;
  /** The lock of the data directory, if it is locked already; closed with the engine. */
  readonly lock?: DirectoryLock;
  /** Called for each read or write that finds that the storage cannot be used. */
  readonly onFault?: OnFault;
  /** Called after each change of what callers may have in a cache, if the engine runs in their thread. */
  readonly callersChanged?: () => void;
}

/** Opens the store and starts to deliver. Throws when the data directory cannot be used. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { data, onFault, lock, log } = options;
  const applying = (migration: string) => log.info("migrating", { migration });
  const conflicted = (conflict: WriterConflict) => log.error("events_conflicted", { ...conflict });
  const storage = await data.open({
    onFault,
    lock,
    applying,
    conflicted,
    replica: log.replica,
  });
  const stops = new Stops(log);
  stops.add("store", () => storage.store.close());
  try {
    return await engineOn(storage, options, stops);
  } catch (error) {
    await stops.stop(0);
    throw error;
  }
}

async function engineOn(
  { store, ownership, replicas, check }: OpenStorage,
  { settings, log, now, monotonic, random, callersChanged, timers = systemTimers }: EngineOptions,
  stops: Stops,
): Promise<Engine> {
  const signingKey = readSigningKey(await signingKeyOf(store));
  const hold = await openHold({ store, isRequired: settings.holdDeliveries ?? false, now, log, timers });
  const isHeld = () => hold.isHeld;
  const eventLoop = watchEventLoop();
  stops.add("event loop", () => eventLoop.stop());
  const tracing = startTracing(settings.tracing, log);
  if (tracing) stops.add("tracing", () => tracing.stop());
  const traces = tracing?.attempts ?? null;
  const counter = new StatisticCounter(now);
  const broadcast = replicas.broadcast.bind(replicas);
  const reports = new Reports({ counter, broadcast, now, timers });

  const sending = sendingOf(settings, now);
  const sender = createSender({ ...sending, keepHeaders: "failed" });
  stops.add("sender", () => sender.close());
  // A separate sender, so that a notify URL that hangs takes no connections from deliveries. The URL may be in the
  // operator's private network.
  const noticeSender = createSender({ ...sending, allowPrivate: true, connections: 4 });
  stops.add("notice sender", () => noticeSender.close());
  const notices = noticesOf(settings.notifyUrl !== null);
  const notifier = createNotifier({
    store,
    ownership,
    sender: noticeSender,
    url: settings.notifyUrl,
    secret: settings.notifySecret,
    signingKey,
    log,
    now,
    random,
    isHeld,
    timers,
  });
  const notify = async (type: ServerNotice, data: ServerNoticeData): Promise<void> => {
    await notifier.announce(notices.ofServer(type, data, now()));
    reports.note("notices", []);
  };
  const dispatcher = createDispatcher({
    store,
    ownership,
    sender,
    signingKey,
    log,
    now,
    monotonic,
    timers,
    random,
    concurrency: settings.webhookConcurrency,
    connections: settings.webhookConnections,
    notices,
    traces,
    isProxied: settings.webhookProxy !== null,
    isHeld,
    requested: () => replays.wake(),
    requestRecorded: (applicationId) => replays.resume(applicationId),
    ended: reports.ended,
    noticed: reports.noticed,
    gatherMs: settings.gatherMs,
  });
  const replays = replaying({ store, dispatcher, ownership, now, monotonic, timers });
  const announce = (...notice: Parameters<typeof notify>) => void notify(...notice);
  // Stopped after the dispatcher, so that the outcomes of its last attempts are stored, too.
  const counting = supervise([storingStatistics(counter, store, log, reports.counted, timers)], log, timers);
  stops.add("statistics", () => counting.stop());
  const services = supervise(
    [
      { name: "dispatcher", run: (signal) => dispatcher.run(signal) },
      replays,
      hold.service(dispatcher.resume),
      notifier,
      repeating(
        "stuck deliveries",
        minute,
        stuckWatch({ store, dispatcher, ownership, now, isHeld, announce }),
        timers,
      ),
      ...maintenance({ store, ownership, settings, now, timers }),
    ],
    log,
    timers,
  );
  const stopping = new AbortController();
  stops.add("services", async (graceMs) => {
    stopping.abort();
    reports.stop();
    noticeSender.close();
    const cancelCutOff = timers.after(graceMs, () => sender.close());
    await services.stop();
    cancelCutOff();
  });
  return {
    started: Promise.resolve(),
    store: withEffects({
      reads: store,
      writes: store,
      callersChanged,
      deliveries: { ...dispatcher, wakeReplays: replays.wake, note: reports.note },
    }),
    ...publishToEngine(store, dispatcher, { ...reports, traces }),
    observe(observer) {
      reports.observe(observer);
      replicas.onNotification((notification) => observer.replicaNotification(notification));
    },
    broadcast,
    watchOutcomes: async (wanted) => reports.watch(wanted),
    async enable(id) {
      await dispatcher.enable(id);
      reports.note("applications", [id]);
    },
    async test(id, sample, watch) {
      const application = await store.applications.find(id);
      if (!application) throw ownerGone();
      if (!receives(application) || application.webhook_url === null) throw noReceiver(application);
      // A separate sender makes a new connection, so that every stage is timed.
      const fresh = createSender({ ...sending, ...sampleLimits });
      const by = { sender: fresh, signingKey, now: now(), isProxied: settings.webhookProxy !== null, watch };
      return sendSample(by, application, sample, stopping.signal).finally(fresh.close);
    },
    notify,
    stats: async () => ({
      ...dispatcher.stats,
      isHeld: hold.isHeld,
      shares: ownership.shares(),
      connections: await store.statistics.connectionUse(),
      eventLoopDelay: eventLoop.delay,
      spans: tracing?.counts() ?? noSpans,
      filtered: Object.fromEntries(reports.filteredByType),
    }),
    async checkStorage(isTroubled) {
      const fault = await check(isTroubled);
      return fault ?? (dispatcher.recordingMs > stalledAfterMs ? "stalled" : null);
    },
    stop: (graceMs) => stops.stop(graceMs),
  };
}

/** The interval at which a release is looked for. */
const lookEveryMs = second;

/** The hold of everything that is sent automatically: deliveries, and notices to the operator. */
interface DeliveryHold {
  readonly isHeld: boolean;
  /** Returns the service that waits until any process has stored the release, and then calls `released`. */
  readonly service: (released: () => void) => Service;
}

interface HoldOptions {
  readonly store: Pick<Store, "settings">;
  /** Whether the settings require a hold at each start. */
  readonly isRequired: boolean;
  readonly now: () => number;
  readonly log: Log;
  readonly timers: Timers;
}

/** Reads whether deliveries are held, for example in a restored copy; begins a hold if the settings require it. */
async function openHold({ store, isRequired, now, log, timers }: HoldOptions): Promise<DeliveryHold> {
  const { settings } = store;
  if (isRequired && !(await settings.get(heldSetting))) await settings.put(heldSetting, isoTime(now()));
  const since = await settings.get(heldSetting);
  let isHeld = Boolean(since);
  if (isHeld) {
    const message =
      "Deliveries are held, because another server may be sending the same ones; to start sending: onair deliveries release";
    log.warn("deliveries_held", { since, message });
  }
  return {
    get isHeld() {
      return isHeld;
    },
    service: (released) => ({
      name: "held deliveries",
      async run(signal) {
        while (isHeld && !signal.aborted) {
          await timers.pause(lookEveryMs, signal);
          if (signal.aborted || (await settings.get(heldSetting))) continue;
          isHeld = false;
          log.info("deliveries_released");
          released();
        }
      },
    }),
  };
}

/** Returns the options for sending webhooks. */
function sendingOf(settings: EngineSettings, now: () => number): SenderOptions {
  return {
    allowPrivate: settings.allowPrivateWebhooks,
    userAgent: `onair/${version}`,
    now,
    proxy: settings.webhookProxy ?? undefined,
    timeoutMs: settings.attemptTimeoutMs,
    connections: settings.webhookConnections,
  };
}

async function signingKeyOf(store: Store): Promise<string> {
  const known = await store.settings.get(signingKeySetting);
  if (known !== null) return known;
  return store.settings.settle(signingKeySetting, newSigningKey());
}

/** The interval at which watched outcomes and changes are reported. */
const reportEveryMs = 200;

interface ReportOptions {
  readonly counter: StatisticCounter;
  /** Sends a message to the other replicas. */
  readonly broadcast: (notification: Broadcast) => void;
  readonly now: () => number;
  readonly timers?: Timers | undefined;
}

/** Reports the engine's work to the statistics, and to open streams of this and other replicas. */
class Reports {
  readonly #options: ReportOptions;
  readonly #collector = new OutcomeCollector();
  #observer: Pick<EngineObserver, "streamed" | "outcomes"> = { streamed() {}, outcomes() {} };
  #cancelTimer: (() => void) | null = null;
  /** The number of deliveries that filters have spared since the start, by the name of the event type. */
  readonly filteredByType = new Map<string, number>();

  constructor(options: ReportOptions) {
    this.#options = options;
  }

  observe(observer: Pick<EngineObserver, "streamed" | "outcomes">): void {
    this.#observer = observer;
  }

  /** Sets which outcomes and changes are collected. */
  watch(watched: WatchedOutcomes): void {
    this.#collector.watch(watched);
  }

  /** Reports an attempt, or the end of a delivery without an attempt. */
  readonly ended = (outcome: EndedDelivery): void => {
    const at = this.#options.now();
    countDelivery(this.#options.counter, outcome, at);
    if (!this.#collector.isWanted(outcome.delivery.application_id)) return;
    this.#collector.add(shownOutcome(outcome, at));
    this.#reportSoon();
  };

  /** Reports that applications have new events on their event stream. */
  readonly streamed = (applicationIds: readonly string[]): void => {
    for (const id of applicationIds) this.#options.counter.count("deliveries", id, "streamed", null);
    this.note("deliveries", applicationIds);
    this.#wakeStreams(applicationIds);
  };

  /** Reports that applications do not get events, because of their filters. */
  readonly filtered = (events: readonly FilteredEvent[]): void => {
    for (const { application_id, type } of events) {
      this.#options.counter.count("deliveries", application_id, "filtered", null);
      this.filteredByType.set(type, (this.filteredByType.get(type) ?? 0) + 1);
    }
  };

  /** Reports new notices about the endpoints of applications. The event streams of the applications have them, too. */
  readonly noticed = (applicationIds: readonly string[]): void => {
    this.note("notices", applicationIds);
    this.#wakeStreams(applicationIds);
  };

  /** Reports that statistics have been stored. */
  readonly counted = (rows: readonly StatisticRow[]): void => {
    const applications = new Set(rows.map(({ subject }) => subject).filter((id) => id !== allSubjects));
    if (applications.size > 0) this.note("statistics", [...applications]);
  };

  /** Reports a change that may be watched; see `OutcomeCollector`. */
  readonly note = (...change: Parameters<OutcomeCollector["note"]>): void => {
    if (this.#collector.note(...change)) this.#reportSoon();
  };

  /** Ends reporting to the observer. */
  stop(): void {
    this.#cancelTimer?.();
  }

  #wakeStreams(applications: readonly string[]): void {
    this.#observer.streamed(applications);
    this.#options.broadcast({ kind: "streamed", applications });
  }

  #reportSoon(): void {
    const { after } = this.#options.timers ?? systemTimers;
    this.#cancelTimer ??= after(reportEveryMs, () => {
      this.#cancelTimer = null;
      this.#observer.outcomes(this.#collector.take(), this.#collector.takeChanged());
    });
  }
}

/** Counts the outcome of a delivery, and the time from publishing to arrival if the first attempt succeeded. */
function countDelivery(
  counter: StatisticCounter,
  { delivery, result, sent }: EndedDelivery,
  now: number,
): void {
  const outcome = result.status === "pending" ? "retried" : result.status;
  const isArrival = sent?.class === "ok" && result.attempts === 1;
  // The id contains the time of publishing.
  const arrivalMs = isArrival ? Math.max(0, now - idTime(delivery.id)) : null;
  counter.count("deliveries", delivery.application_id, outcome, arrivalMs);
}

function shownOutcome({ delivery, result, sent }: EndedDelivery, at: number): DeliveryOutcome {
  return {
    delivery_id: delivery.id,
    subscription_id: delivery.subscription_id,
    application_id: delivery.application_id,
    type: delivery.event.name,
    at,
    status: result.status,
    attempt: sent ? result.attempts : 0,
    outcome: sent?.class ?? null,
    http_status: sent?.status ?? null,
    duration_ms: sent?.durationMs ?? null,
    error: sent?.error ?? null,
  };
}
