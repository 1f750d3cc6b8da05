import type { EventStore } from "../../domain/deliveries.ts";
import type { OnFault, Store } from "../../domain/store.ts";
import { lazily } from "../../runtime/lazily.ts";
import type { Log, LogLevel } from "../../runtime/log.ts";
import type { Remote } from "../../runtime/thread-link.ts";
import { startThread } from "../../runtime/threads.ts";
import { openReading, openReadingIfReady } from "../../store/open.ts";
import { lockDirectory } from "../../store/sqlite/directory.ts";
import type { Engine, EngineListener, EngineSettings } from "../engine.ts";
import type { WatchSample } from "../sample.ts";
import type { EngineThread } from "./worker.ts";

/**
 * Returns the store of the main thread. The methods listed here read through a connection of this thread; all others
 * are called in the engine's thread. A read after a write sees it, because the write is acknowledged after its commit.
 */
function sharedStore(reader: Store, engine: Remote<EngineThread["offers"]["store"]>): Store {
  return lazily<Store>({
    users: () => shared(reader.users, engine.users, ["find", "search", "exists", "count", "page"]),
    categories: () => shared(reader.categories, engine.categories, ["all", "byIds", "page"]),
    channels: () => shared(reader.channels, engine.channels, ["byIds", "page"]),
    livestreams: () => shared(reader.livestreams, engine.livestreams, ["all", "byChannels", "page"]),
    applications: () =>
      shared(reader.applications, engine.applications, [
        "find",
        "clientSecretHashes",
        "secretsInForce",
        "all",
        "page",
      ]),
    tokens: () => shared(reader.tokens, engine.tokens, ["find", "inspect", "ofApplication"]),
    loginRequests: () => shared(reader.loginRequests, engine.loginRequests, ["isAnswered"]),
    consents: () => shared(reader.consents, engine.consents, ["ofUser"]),
    subscriptions: () =>
      shared(reader.subscriptions, engine.subscriptions, ["ofApplication", "list", "find", "count", "page"]),
    events: () => unsharedEvents,
    eventTypes: () => shared(reader.eventTypes, engine.eventTypes, ["all"]),
    deliveries: () =>
      shared(reader.deliveries, engine.deliveries, [
        "page",
        "find",
        "backlog",
        "backlogOfAll",
        "last",
        "lastBefore",
        "publishedUpTo",
        "lastRemoved",
        "streamed",
      ]),
    replays: () => shared(reader.replays, engine.replays, ["find", "page"]),
    endpoints: () => shared(reader.endpoints, engine.endpoints, ["find", "failing"]),
    notices: () => shared(reader.notices, engine.notices, ["behind", "page", "lastBefore"]),
    audit: () => shared(reader.audit, engine.audit, ["page"]),
    statistics: () => shared(reader.statistics, engine.statistics, ["read", "databaseBytes", "kindSizes"]),
    retention: () => shared(reader.retention, engine.retention, []),
    idempotency: () => shared(reader.idempotency, engine.idempotency, []),
    operatorKeys: () => shared(reader.operatorKeys, engine.operatorKeys, ["all", "hasSession"]),
    settings: () => shared(reader.settings, engine.settings, ["get"]),
    orders: () => shared(reader.orders, engine.orders, ["find"]),
    // The engine closes the store.
    close: () => async () => {},
  });
}

/** Combines the methods of a noun: those in `here` of the reader, all others of the engine's thread. */
function shared<Noun extends object>(reader: Noun, engine: Noun, here: readonly (keyof Noun)[]): Noun {
  const names = Object.keys(reader) as (keyof Noun)[];
  const methods = names.map((name) => [name, (here.includes(name) ? reader : engine)[name]]);
  // A boundary: it has exactly the methods of the reader.
  return Object.fromEntries(methods) as Noun;
}

const unshared = async (): Promise<never> => {
  throw new Error("Events are published by the engine, because callbacks cannot be sent to its thread");
};
const unsharedEvents: EventStore = { publish: unshared, publishAll: unshared };

interface EngineThreadOptions {
  /** The URL of `../worker.ts`. */
  readonly program: string;
  readonly settings: EngineSettings;
  readonly logLevel: LogLevel;
  readonly log: Log;
  /** Called when the thread has failed: nothing can be written or delivered any more. */
  readonly failed: (error: Error) => void;
  /** Called for each read or write, in either thread, that finds that the storage cannot be used. */
  readonly onFault: OnFault;
}

/**
 * Runs the engine in a separate thread, so that neither syncs nor signatures delay requests. If the data can be read at
 * once, resolves before the thread has started. Rejects if the directory cannot be locked, or with the error of
 * starting the engine.
 */
export async function startEngineThread(options: EngineThreadOptions): Promise<Engine> {
  const { settings, onFault, ...rest } = options;
  const { location } = settings;
  const lock = "directory" in location ? lockDirectory(location.directory) : null;
  let listener: EngineListener | null = null;
  /** Whether notifications of other replicas arrived before there was a listener. */
  let hasMissed = false;
  const watches = new Map<number, WatchSample>();
  let lastWatch = 0;
  const thread = startThread<EngineThread>({
    name: "engine",
    start: settings,
    offered: {
      storageFault: onFault,
      streamed: (ids) => listener?.streamed(ids),
      outcomes: (batches, changed) => listener?.outcomes(batches, changed),
      replicaNotification(notification) {
        if (listener) listener.replicaNotification(notification);
        else hasMissed = true;
      },
      sampleStep: (watched, step) => watches.get(watched)?.(step),
    },
    ...rest,
  });
  const isStarted = thread.started.then(
    () => true,
    () => {
      lock?.close();
      return false;
    },
  );
  const { remote } = thread;
  const early = await openReadingIfReady(location, onFault, remote.store);
  if (!early) await thread.started;
  const reader = early ?? (await openReading(location, onFault, remote.store));
  return {
    started: thread.started,
    store: sharedStore(reader, remote.store),
    publish: remote.publish,
    publishAll: remote.publishAll,
    enable: remote.enable,
    async test(id, sample, watch) {
      if (!watch) return remote.test(id, sample, null);
      const watched = ++lastWatch;
      watches.set(watched, watch);
      return remote.test(id, sample, watched).finally(() => watches.delete(watched));
    },
    // The errors of these three calls are ignored: without the thread the process ends anyway.
    notify: (type, data) => remote.notify(type, data).catch(() => {}),
    stats: remote.stats,
    checkStorage: remote.checkStorage,
    listen(given) {
      listener = given;
      if (hasMissed) listener.replicaNotification({ kind: "missed" });
      hasMissed = false;
    },
    broadcast: (notification) => void remote.broadcast(notification).catch(() => {}),
    watchOutcomes: (watched) => remote.watchOutcomes(watched).catch(() => {}),
    async stop(graceMs) {
      await reader.close();
      // Does not reject if the start has failed, because `started` has rejected with the reason.
      if (!(await isStarted)) return;
      await remote.stop(graceMs);
      thread.end();
      lock?.close();
    },
  };
}
