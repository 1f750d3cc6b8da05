import { lazily } from "../domain/lazily.ts";
import { errorFields, type Log, type LogLevel } from "../log.ts";
import { lockDirectory } from "../store/sqlite/open.ts";
import { openReader, openReaderIfReady } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import type { Engine, EngineSettings, StreamedListener } from "./engine.ts";
import {
  type Answer,
  type Call,
  type FromEngine,
  plainError,
  signingKeySetting,
  type ToEngine,
  thrownError,
} from "./messages.ts";

export interface EngineThreadOptions {
  /** The URL of `worker.ts`. */
  readonly program: string;
  readonly settings: EngineSettings;
  readonly logLevel: LogLevel;
  readonly log: Log;
  /** Called when the thread broke down: nothing can be written or delivered any more. */
  readonly failed: (error: Error) => void;
}

/** What this thread reads from the database itself; everything else is asked of the engine's thread. */
const readHere: Readonly<Record<string, readonly string[]>> = {
  users: ["find", "search", "exists", "count", "page"],
  categories: ["all", "byIds", "page"],
  channels: ["byIds", "page"],
  livestreams: ["all", "page"],
  applications: ["find", "clientSecretHashes", "all", "page"],
  tokens: ["find", "inspect", "ofApplication"],
  loginRequests: ["find"],
  consents: ["ofUser"],
  subscriptions: ["ofApplication", "find", "count"],
  eventTypes: ["all"],
  deliveries: ["page", "find", "backlog", "last", "lastBefore", "streamed"],
  replays: ["find", "page"],
  endpoints: ["find", "failing"],
  settings: ["get"],
};

/**
 * Runs the engine in a thread of its own, so that neither a sync nor the signing of ten thousand deliveries holds up a
 * request. Where there is nothing to do before anybody may read, this resolves without waiting for the thread: `started`
 * tells when it is ready. Throws when the directory cannot be locked, or what starting the engine threw.
 */
export async function startEngineThread(options: EngineThreadOptions): Promise<Engine> {
  const { program, settings, logLevel, log, failed } = options;
  const lock = lockDirectory(settings.data);
  const worker = new Worker(program);
  const send = (message: ToEngine) => worker.postMessage(message);
  const calls = new Calls((made) => send({ calls: made }));
  const starting = Promise.withResolvers<void>();
  let streamed: StreamedListener = () => {};
  let hasFailed = false;
  const end = (error: Error) => {
    hasFailed = true;
    worker.terminate();
    lock.close();
    calls.rejectAll(error);
    starting.reject(error);
  };
  worker.onmessage = ({ data }: MessageEvent<FromEngine>) => {
    if ("answers" in data) calls.answered(data.answers);
    else if ("streamed" in data) streamed(data.streamed);
    else if ("log" in data) log.raw(data.log);
    else if ("failed" in data) end(thrownError(data.failed));
    else starting.resolve();
  };
  worker.onerror = ({ message }) => {
    const error = new Error(message);
    log.error("engine_failed", errorFields(error));
    end(error);
    failed(error);
  };
  send({ start: settings, logLevel });
  starting.promise.catch(() => {}); // whoever awaits it is told
  const early = await readerIfReady(settings.data);
  if (!early) await starting.promise;
  const reader = early ?? openReader(settings.data);
  return {
    started: starting.promise,
    store: sharedStore(reader, calls),
    publish: (event) => calls.make("publish", [event]),
    publishAll: (events) => calls.make("publishAll", [events]),
    enable: (id) => calls.make("enable", [id]),
    wake: (id) => calls.make("wake", [id]),
    test: (id, sample) => calls.make("test", [id, sample]),
    standing: () => calls.make("standing", []),
    onStreamed(listener) {
      streamed = listener;
    },
    async stop(graceMs) {
      await reader.close();
      if (hasFailed) return;
      await calls.make("stop", [graceMs]);
      worker.terminate();
      lock.close();
    },
  };
}

/** null as well where the engine has never started before: its key is still to be made. */
async function readerIfReady(directory: string): Promise<Store | null> {
  const reader = openReaderIfReady(directory);
  if (reader === null || (await reader.settings.get(signingKeySetting)) !== null) return reader;
  await reader.close();
  return null;
}

/** Calls of one turn of the event loop share a message. */
class Calls {
  readonly #waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  #next = 1;
  #calls: Call[] = [];

  constructor(readonly send: (calls: readonly Call[]) => void) {}

  make<T>(method: string, args: readonly unknown[]): Promise<T> {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, { resolve, reject });
      if (this.#calls.length === 0) setImmediate(() => this.#flush());
      this.#calls.push({ id, method, args });
    });
  }

  answered(answers: readonly Answer[]): void {
    for (const answer of answers) {
      const call = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ("error" in answer) call?.reject(thrownError(answer.error));
      else call?.resolve(answer.value as never);
    }
  }

  rejectAll(error: Error): void {
    for (const call of this.#waiting.values()) call.reject(thrownError(plainError(error)));
    this.#waiting.clear();
  }

  #flush(): void {
    this.send(this.#calls);
    this.#calls = [];
  }
}

/** The store as this thread uses it. A read that follows a write sees it: the answer comes after the commit. */
function sharedStore(reader: Store, calls: Calls): Store {
  const shared = (noun: keyof Store) => {
    const methods = Object.entries(reader[noun]).map(([verb, method]) => {
      if (readHere[noun]?.includes(verb)) return [verb, method];
      return [verb, (...args: unknown[]) => calls.make(`store.${noun}.${verb}`, args)];
    });
    return Object.fromEntries(methods);
  };
  const nouns = Object.keys(reader).filter((name) => name !== "close") as (keyof Store)[];
  const makers = nouns.map((noun) => [noun, () => shared(noun)] as const);
  // A boundary: the same nouns and verbs as the reader has.
  return Object.assign(lazily(Object.fromEntries(makers)) as Store, { close: async () => {} });
}
