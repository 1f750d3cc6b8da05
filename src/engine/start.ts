import { type OpenStorage, openStorage } from "../data/open.ts";
import { signingKeySetting } from "../data/stored-keys.ts";
import { receives } from "../domain/applications.ts";
import { noReceiver } from "../domain/delivery-log.ts";
import { ownerGone } from "../domain/errors.ts";
import type { ServerNotice, ServerNoticeData } from "../domain/operations/notices.ts";
import { StatisticCounter } from "../domain/operations/statistics.ts";
import { minute } from "../domain/time.ts";
import type { Log } from "../log/log.ts";
import { repeating, supervise } from "../runtime/services.ts";
import { version } from "../runtime/version.ts";
import type { OnFault } from "../store/faults.ts";
import type { DirectoryLock } from "../store/sqlite/database/lock.ts";
import type { WriterConflict } from "../store/sqlite/database/open.ts";
import type { Store } from "../store/store.ts";
import { watchEventLoop } from "../threads/event-loop-delay.ts";
import { noSpans } from "../tracing/span-counts.ts";
import { createSender, type SenderOptions } from "../webhooks/client/sender.ts";
import { createDispatcher } from "../webhooks/dispatcher.ts";
import { eventSink } from "../webhooks/event-sink.ts";
import { noticesOf } from "../webhooks/notices/notice.ts";
import { createNotifier } from "../webhooks/notices/notifier.ts";
import { stuckWatch } from "../webhooks/notices/stuck-watch.ts";
import { replaying } from "../webhooks/replays.ts";
import { sampleLimits, sendSample } from "../webhooks/sample.ts";
import { newSigningKey, readSigningKey } from "../webhooks/signature.ts";
import { openHold } from "./delivery-hold.ts";
import type { Engine, EngineSettings } from "./engine.ts";
import { maintenance } from "./maintenance.ts";
import { Reports } from "./reports.ts";
import { storingStatistics } from "./storing-statistics.ts";
import { tracedSink, tracingOf } from "./tracing.ts";
import { watchedStore } from "./watched-store.ts";

interface EngineOptions {
  readonly settings: EngineSettings;
  readonly log: Log;
  readonly now: () => number;
  /** A clock that is never set. */
  readonly monotonic: () => number;
  readonly random: () => number;
  /** The lock of the data directory, if it is locked already; closed with the engine. */
  readonly lock?: DirectoryLock;
  /** Called for each read or write that finds that the storage cannot be used. */
  readonly onFault?: OnFault;
}

/** Opens the store and starts to deliver. Throws when the data directory cannot be used. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { settings, onFault, lock, log } = options;
  const applying = (migration: string) => log.info("migrating", { migration });
  const conflicted = (conflict: WriterConflict) => log.error("events_conflicted", { ...conflict });
  const storage = await openStorage(settings.location, { onFault, lock, applying, conflicted });
  try {
    return await engineOn(storage, options);
  } catch (error) {
    await storage.store.close();
    throw error;
  }
}

async function engineOn(
  { store, ownership, replicas, check }: OpenStorage,
  { settings, log, now, monotonic, random }: EngineOptions,
): Promise<Engine> {
  const signingKey = readSigningKey(await signingKeyOf(store));
  const hold = await openHold({ store, isRequired: settings.holdDeliveries ?? false, now, log });
  const isHeld = () => hold.isHeld;
  const eventLoop = watchEventLoop();
  const tracing = await tracingOf(settings.tracing, log);
  const attempts = tracing?.attempts ?? null;
  const counter = new StatisticCounter(now);
  const broadcast = replicas.broadcast.bind(replicas);
  const reports = new Reports({ counter, broadcast, now });

  const sending = sendingOf(settings, now);
  const sender = createSender(sending);
  // A separate sender, so that a notify URL that hangs takes no connections from deliveries. The URL may be in the
  // operator's private network.
  const noticeSender = createSender({ ...sending, allowPrivate: true, connections: 4 });
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
  const replays = replaying(store, dispatcher, ownership, now);
  const announce = (...notice: Parameters<typeof notify>) => void notify(...notice);
  const services = supervise(
    [
      { name: "dispatcher", run: (signal) => dispatcher.run(signal) },
      replays,
      hold.service(dispatcher.resume),
      notifier,
      storingStatistics(counter, store, log, reports.counted),
      repeating(
        "stuck deliveries",
        minute,
        stuckWatch({ store, dispatcher, ownership, now, isHeld, announce }),
      ),
      ...maintenance(store, ownership, settings, now),
    ],
    log,
  );
  const stopping = new AbortController();
  return {
    started: Promise.resolve(),
    store: watchedStore(store, dispatcher, reports.note, replays),
    ...tracedSink(attempts, eventSink(store, dispatcher, reports.streamed)),
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
      eventLoopDelay: eventLoop.delay,
      spans: tracing?.counts() ?? noSpans,
    }),
    checkStorage: check,
    async stop(graceMs) {
      stopping.abort();
      eventLoop.stop();
      reports.stop();
      noticeSender.close();
      const cutOff = setTimeout(() => sender.close(), graceMs);
      await services.stop();
      clearTimeout(cutOff);
      sender.close();
      await tracing?.stop();
      await store.close();
    },
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
