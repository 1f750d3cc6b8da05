import { errorFields, type Log, type LogLevel } from "../log.ts";
import { Link } from "./link.ts";
import { type FromThread, type ToThread, thrownError } from "./messages.ts";

export interface ThreadOptions {
  /** What it is called in the log. */
  readonly name: string;
  /** The URL of a module that calls `runThread`. */
  readonly program: string;
  /** Given to it to start with, as far as that can be sent. */
  readonly start: unknown;
  readonly logLevel: LogLevel;
  readonly log: Log;
  /** Called when it broke down. */
  readonly failed: (error: Error) => void;
  /** What it may call here. */
  readonly offered?: object;
  /** Whether it begins not before `begin`. What is called before that waits. */
  readonly held?: boolean;
}

/** A thread that was started from here. */
export interface Thread {
  /** Rejects with what starting it threw. What is called before that waits. */
  readonly started: Promise<void>;
  /** Has one that is held begin. Gives `started`. */
  begin(): Promise<void>;
  hasBegun(): boolean;
  readonly link: Link;
  end(): void;
}

/** Starts a thread, whose log is written here. */
export function startThread(options: ThreadOptions): Thread {
  const { name, program, start, logLevel, log, failed, offered, held = false } = options;
  const { promise: started, resolve, reject } = Promise.withResolvers<void>();
  let worker: Worker | null = null;
  let hasEnded = false;
  let unsent: ToThread[] = [{ start, logLevel }];
  const post = (message: ToThread) => {
    if (worker) worker.postMessage(message);
    else unsent.push(message);
  };
  const link = new Link(post, () => offered);

  const begin = () => {
    if (worker || hasEnded) return started;
    worker = new Worker(program);
    worker.onmessage = ({ data }: MessageEvent<FromThread>) => {
      if ("log" in data) log.raw(data.log);
      else if ("failed" in data) reject(thrownError(data.failed));
      else if ("started" in data) resolve();
      else link.received(data);
    };
    worker.onerror = ({ message }) => {
      const error = new Error(message);
      log.error("thread_failed", { thread: name, ...errorFields(error) });
      link.broken(error);
      reject(error);
      failed(error);
    };
    for (const message of unsent) post(message);
    unsent = [];
    return started;
  };
  const end = () => {
    hasEnded = true;
    const error = new Error(`The thread ${name} has ended`);
    link.broken(error);
    if (worker === null) reject(error);
    worker?.terminate();
  };

  started.catch((error) => {
    link.broken(error);
    worker?.terminate();
  });
  if (!held) void begin();
  return {
    started,
    begin,
    hasBegun: () => worker !== null,
    link,
    end,
  };
}
