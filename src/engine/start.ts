import { openStorage } from "../data/open.ts";
import { signingKeySetting } from "../data/stored-keys.ts";
import { receives } from "../domain/applications.ts";
import { noReceiver } from "../domain/delivery-log.ts";
import { ownerGone } from "../domain/errors.ts";
import { idTime } from "../domain/ids.ts";
import type { ServerNotice, ServerNoticeData } from "../domain/operations/notices.ts";
import { allSubjects, StatisticCounter } from "../domain/operations/statistics.ts";
import type { Log } from "../log/log.ts";
import { supervise } from "../runtime/services.ts";
import { version } from "../runtime/version.ts";
import type { OnFault } from "../store/faults.ts";
import type { DirectoryLock } from "../store/sqlite/database/lock.ts";
import type { Store } from "../store/store.ts";
import { watchEventLoop } from "../threads/event-loop-delay.ts";
import { noSpans } from "../tracing/span-counts.ts";
import { createSender } from "../webhooks/client/sender.ts";
import type { EndedDelivery } from "../webhooks/counts.ts";
import { createDispatcher } from "../webhooks/dispatcher.ts";
import { eventSink } from "../webhooks/event-sink.ts";
import { noticesOf } from "../webhooks/notices/notice.ts";
import { createNotifier } from "../webhooks/notices/notifier.ts";
import { watchingForStuck } from "../webhooks/notices/stuck-watch.ts";
import { replaying } from "../webhooks/replays.ts";
import { sampleLimits, sendSample } from "../webhooks/sample.ts";
import { newSigningKey, readSigningKey } from "../webhooks/signature.ts";
import { openHold } from "./delivery-hold.ts";
import type { Engine, EngineSettings, StreamedListener } from "./engine.ts";
import { maintenance } from "./maintenance.ts";
import { OutcomeWatch } from "./outcome-watch.ts";
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
  /** The lock of the data directory, where it is locked already; closed with the engine. */
  readonly lock?: DirectoryLock;
  /** Called for each read or write that finds that the storage cannot be used. */
  readonly onFault?: OnFault;
}

/** The setting that is written to check the storage. */
const checkedSetting = "storage_checked_at";

/** Opens the store and starts to deliver. Throws when the data directory cannot be used. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { settings, log, now, monotonic, random, lock, onFault } = options;
  const { store, ownership, replicas, look, faultOf } = await openStorage(settings.place, onFault, lock);
  try {
    const signingKey = readSigningKey(await signingKeyOf(store));
    const allowPrivate = settings.allowPrivateWebhooks;
    const proxy = settings.webhookProxy ?? undefined;
    const sending = {
      allowPrivate,
      userAgent: `onair/${version}`,
      now,
      proxy,
      timeoutMs: settings.attemptTimeoutMs,
      connections: settings.webhookConnections,
    };
    const sender = createSender(sending);
    const hold = await openHold({ store, isAsked: settings.holdDeliveries ?? false, now, log });
    // Of its own, so that a notify URL that hangs takes no connection from deliveries. The operator may have it inside.
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
      isHeld: () => hold.isHeld,
    });
    const eventLoop = watchEventLoop();
    const tracing = await tracingOf(settings.tracing, log);
    const counter = new StatisticCounter(now);
    const watched = new OutcomeWatch(now);
    const { note } = watched;
    const notify = (type: ServerNotice, data: ServerNoticeData) =>
      notifier.announce(notices.ofServer(type, data, now())).then(() => note("notices", []));
    const stopping = new AbortController();
    let streamed: StreamedListener = () => {};
    const streamedHere: StreamedListener = (applications) => {
      streamed(applications);
      replicas.broadcast({ kind: "streamed", applications });
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
      traces: tracing?.attempts ?? null,
      isHeld: () => hold.isHeld,
      asked: () => replays.wake(),
      ended(outcome) {
        countDelivery(counter, outcome, now());
        watched.ended(outcome);
      },
      noticed(ids) {
        note("notices", ids);
        streamedHere(ids);
      },
      gatherMs: settings.gatherMs,
    });
    const replays = replaying(store, dispatcher, ownership, now);
    const services = supervise(
      [
        { name: "dispatcher", run: (signal) => dispatcher.run(signal) },
        replays,
        hold.service(dispatcher.resume),
        notifier,
        storingStatistics(counter, store, log, (rows) => {
          const applications = new Set(rows.map(({ subject }) => subject).filter((id) => id !== allSubjects));
          if (applications.size > 0) note("statistics", [...applications]);
        }),
        watchingForStuck({
          store,
          dispatcher,
          ownership,
          now,
          isHeld: () => hold.isHeld,
          announce: (type, data) => void notify(type, data),
        }),
        ...maintenance(store, ownership, settings, now),
      ],
      log,
    );
    return {
      started: Promise.resolve(),
      store: watchedStore(store, dispatcher, note, replays),
      ...tracedSink(
        tracing?.attempts ?? null,
        eventSink(store, dispatcher, (ids) => {
          for (const id of ids) counter.count("deliveries", id, "streamed", null);
          note("deliveries", ids);
          streamedHere(ids);
        }),
      ),
      onStreamed(listener) {
        streamed = listener;
      },
      onNews: replicas.onNews.bind(replicas),
      broadcast: replicas.broadcast.bind(replicas),
      watchOutcomes: async (wanted) => watched.watch(wanted),
      onOutcomes: (listener) => watched.onOutcomes(listener),
      async enable(id) {
        await dispatcher.enable(id);
        note("applications", [id]);
      },
      async test(id, sample, watch) {
        const application = await store.applications.find(id);
        if (!application) throw ownerGone();
        if (!receives(application) || application.webhook_url === null) throw noReceiver(application);
        // A sender of its own makes a new connection, whose every stage is then timed.
        const fresh = createSender({ ...sending, ...sampleLimits });
        const by = { sender: fresh, signingKey, now: now(), isProxied: proxy !== undefined, watch };
        return sendSample(by, application, sample, stopping.signal).finally(fresh.close);
      },
      notify,
      stats: async () => ({
        ...dispatcher.stats,
        isHeld: hold.isHeld,
        eventLoopDelay: eventLoop.delay,
        spans: tracing?.counts() ?? noSpans,
      }),
      async checkStorage(isTroubled) {
        const fault = await look(isTroubled);
        if (fault !== null || !isTroubled) return fault;
        const written = store.settings.put(checkedSetting, new Date(now()).toISOString());
        return written.then(() => null, faultOf);
      },
      async stop(graceMs) {
        stopping.abort();
        eventLoop.stop();
        watched.stop();
        noticeSender.close();
        const cutOff = setTimeout(() => sender.close(), graceMs);
        await services.stop();
        clearTimeout(cutOff);
        sender.close();
        await tracing?.stop();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function signingKeyOf(store: Store): Promise<string> {
  const known = await store.settings.get(signingKeySetting);
  if (known !== null) return known;
  return store.settings.settle(signingKeySetting, newSigningKey());
}

/** Counts what became of a delivery, and how long the first attempt took from publishing to arrival. */
function countDelivery(
  counter: StatisticCounter,
  { delivery, result, sent }: EndedDelivery,
  now: number,
): void {
  const outcome = result.status === "pending" ? "retried" : result.status;
  const isArrival = sent?.class === "ok" && result.attempts === 1;
  // The id of a delivery is made when it is published.
  const arrivalMs = isArrival ? Math.max(0, now - idTime(delivery.id)) : null;
  counter.count("deliveries", delivery.application_id, outcome, arrivalMs);
}
