import { receives } from "../domain/applications.ts";
import { noReceiver } from "../domain/deliveries.ts";
import { ownerGone } from "../domain/errors.ts";
import type { ServerNotice, ServerNoticeData } from "../domain/notices.ts";
import { StatisticCounter } from "../domain/statistics.ts";
import { heldSetting, type OnFault, type Store, stalledAfterMs } from "../domain/store.ts";
import { isoTime, minute, second } from "../domain/time.ts";
import { watchEventLoop } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import { repeating, type Service, supervise } from "../runtime/services.ts";
import { Stops } from "../runtime/stops.ts";
import { systemTimers, type Timers } from "../runtime/timers.ts";
import { type Collector, noSpans } from "../runtime/tracing/collector.ts";
import { version } from "../runtime/version.ts";
import { withEffects } from "../store/effects.ts";
import { type OpenStorage, openStorage } from "../store/open.ts";
import type { DirectoryLock } from "../store/sqlite/directory.ts";
import type { WriterConflict } from "../store/sqlite/staged.ts";
import { signingKeySetting } from "../store/stored-keys.ts";
import { createDispatcher } from "./dispatcher.ts";
import type { Engine, EngineSettings } from "./engine.ts";
import { maintenance, storingStatistics } from "./maintenance.ts";
import { createNotifier, noticesOf } from "./notices.ts";
import { eventSink } from "./publish.ts";
import { replaying } from "./replays.ts";
import { Reports } from "./reports.ts";
import { sampleLimits, sendSample } from "./sample.ts";
import { createSender, type SenderOptions } from "./send/send.ts";
import { newSigningKey, readSigningKey } from "./signature.ts";
import { stuckWatch } from "./stuck-watch.ts";

/** The interval at which a release is looked for. */
const lookEveryMs = second;

/** The hold of everything that is sent automatically: deliveries, and notices to the operator. */
export interface DeliveryHold {
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

/** Starts the tracing of the engine's thread; null if it is off. Its modules are loaded only if it is on. */
export async function tracingOf(settings: Collector | null, log: Log) {
  if (!settings) return null;
  const { startTracing } = await import("../runtime/tracing/start.ts");
  const { AttemptTraces } = await import("../runtime/tracing/attempts.ts");
  const { tracer, ...tracing } = startTracing(settings, log);
  return { attempts: new AttemptTraces(tracer), ...tracing };
}

interface EngineOptions {
  readonly settings: EngineSettings;
  readonly log: Log;
  readonly now: () => number;
  /** A clock that is never set. */
  readonly monotonic: () => number;
  readonly random: () => number;
  /** What the engine waits with, except for connections and answers; by default the system's. */
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
  const { settings, onFault, lock, log } = options;
  const applying = (migration: string) => log.info("migrating", { migration });
  const conflicted = (conflict: WriterConflict) => log.error("events_conflicted", { ...conflict });
  const storage = await openStorage(settings.location, {
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
  const tracing = await tracingOf(settings.tracing, log);
  if (tracing) stops.add("tracing", () => tracing.stop());
  const attempts = tracing?.attempts ?? null;
  const counter = new StatisticCounter(now);
  const broadcast = replicas.broadcast.bind(replicas);
  const reports = new Reports({ counter, broadcast, now, timers });

  const sending = sendingOf(settings, now);
  const sender = createSender(sending);
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
    traces: attempts,
    isHeld,
    requested: () => replays.wake(),
    requestRecorded: (applicationId) => replays.resume(applicationId),
    ended: reports.ended,
    noticed: reports.noticed,
    gatherMs: settings.gatherMs,
  });
  const replays = replaying(store, dispatcher, ownership, now, timers);
  const announce = (...notice: Parameters<typeof notify>) => void notify(...notice);
  const services = supervise(
    [
      { name: "dispatcher", run: (signal) => dispatcher.run(signal) },
      replays,
      hold.service(dispatcher.resume),
      notifier,
      storingStatistics(counter, store, log, reports.counted, timers),
      repeating(
        "stuck deliveries",
        minute,
        stuckWatch({ store, dispatcher, ownership, now, isHeld, announce }),
        timers,
      ),
      ...maintenance(store, ownership, settings, now, timers),
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
    ...eventSink(store, dispatcher, { streamed: reports.streamed, traces: attempts }),
    listen(listener) {
      reports.listen(listener);
      replicas.onNotification((notification) => listener.replicaNotification(notification));
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
      eventLoopDelay: eventLoop.delay,
      spans: tracing?.counts() ?? noSpans,
    }),
    async checkStorage(isTroubled) {
      const fault = await check(isTroubled);
      return fault ?? (dispatcher.recordingMs > stalledAfterMs ? "stalled" : null);
    },
    stop: (graceMs) => stops.stop(graceMs),
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
