import { lazily } from "../domain/lazily.ts";
import type { Log, LogLevel } from "../log.ts";
import { lockDirectory } from "../store/sqlite/database/lock.ts";
import { type OnFault, openReader, openReaderIfReady } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import type { Link } from "../threads/link.ts";
import { startThread } from "../threads/start.ts";
import type { Engine, EngineSettings, StreamedListener } from "./engine.ts";
import { signingKeySetting } from "./setting.ts";

export interface EngineThreadOptions {
  /** The URL of `worker.ts`. */
  readonly program: string;
  readonly settings: EngineSettings;
  readonly logLevel: LogLevel;
  readonly log: Log;
  /** Called when the thread broke down: nothing can be written or delivered any more. */
  readonly failed: (error: Error) => void;
  /** Called for each read or write, in that thread or in this, that finds that the storage cannot be used. */
  readonly onFault: OnFault;
  /** Whether it begins not before `start`, where it need not; on one processor it does where this is left out. */
  readonly held?: boolean;
}

/** What each thread reads from the database itself; everything else is asked of the engine's thread. */
const readHere: Readonly<Record<string, readonly string[]>> = {
  users: ["find", "search", "exists", "count", "page"],
  categories: ["all", "byIds", "page"],
  channels: ["byIds", "page"],
  livestreams: ["all", "page"],
  applications: ["find", "clientSecretHashes", "all", "page"],
  tokens: ["find", "inspect", "ofApplication"],
  loginRequests: ["find"],
  consents: ["ofUser"],
  subscriptions: ["ofApplication", "list", "find", "count"],
  eventTypes: ["all"],
  deliveries: ["page", "find", "backlog", "last", "lastBefore", "lastRemoved", "streamed"],
  replays: ["find", "page"],
  endpoints: ["find", "failing"],
  operatorKeys: ["all"],
  settings: ["get"],
};

/**
 * Runs the engine in a thread of its own, so that neither a sync nor the signing of ten thousand deliveries holds up a
 * request. Where there is nothing to do before anybody may read, this resolves without waiting for the thread, and on
 * one processor, which the two would take from each other, the thread begins with `start`. Throws when the directory
 * cannot be locked, or what starting the engine threw.
 */
export async function startEngineThread(options: EngineThreadOptions): Promise<Engine> {
  const { settings, onFault, held = navigator.hardwareConcurrency === 1, ...rest } = options;
  const lock = lockDirectory(settings.data);
  const told = new Told(onFault);
  const thread = startThread({ name: "engine", start: settings, offered: told, held, ...rest });
  const isStarted = thread.started.then(
    () => true,
    () => {
      lock.close();
      return false;
    },
  );
  // It throws nothing: who leaves while the thread still starts has nobody to tell what is wrong.
  const early = await readerIfReady(settings.data, onFault);
  if (!early) await thread.begin();
  const { stop, ...engine } = remoteEngine(thread.link, told, early ?? openReader(settings.data, onFault));
  return {
    ...engine,
    start: thread.begin,
    async stop(graceMs) {
      await stop();
      if (!thread.hasBegun()) thread.end();
      if (!(await isStarted)) return;
      await thread.link.call("stop", graceMs);
      thread.end();
      lock.close();
    },
  };
}

/** null as well where the engine has never started before, and its key is still to be made, or cannot be read. */
async function readerIfReady(directory: string, onFault: OnFault): Promise<Store | null> {
  const reader = openReaderIfReady(directory, onFault);
  const key = await reader?.settings.get(signingKeySetting).catch(() => null);
  if (reader === null || key !== null) return reader;
  await reader.close();
  return null;
}

/** What the engine's thread calls here. */
class Told {
  constructor(readonly storageFault: OnFault = () => {}) {}

  streamed: StreamedListener = () => {};
}

function remoteEngine(
  link: Link,
  told: Told,
  reader: Store,
): Omit<Engine, "stop" | "start"> & { stop(): Promise<void> } {
  return {
    store: sharedStore(reader, link),
    publish: (event) => link.call("publish", event),
    publishAll: (events) => link.call("publishAll", events),
    enable: (id) => link.call("enable", id),
    wake: (id) => link.call("wake", id),
    test: (id, sample) => link.call("test", id, sample),
    standing: () => link.call("standing"),
    checkStorage: (isTroubled) => link.call("checkStorage", isTroubled),
    onStreamed(listener) {
      told.streamed = listener;
    },
    stop: () => reader.close(),
  };
}

/** The store as this thread uses it. A read that follows a write sees it: the answer comes after the commit. */
function sharedStore(reader: Store, link: Link): Store {
  const shared = (noun: keyof Store) => {
    const methods = Object.entries(reader[noun]).map(([verb, method]) => {
      if (readHere[noun]?.includes(verb)) return [verb, method];
      return [verb, (...args: unknown[]) => link.call(`store.${noun}.${verb}`, ...args)];
    });
    return Object.fromEntries(methods);
  };
  const nouns = Object.keys(reader).filter((name) => name !== "close") as (keyof Store)[];
  const makers = nouns.map((noun) => [noun, () => shared(noun)] as const);
  // A boundary: the same nouns and verbs as the reader has.
  return Object.assign(lazily(Object.fromEntries(makers)) as Store, { close: async () => {} });
}
