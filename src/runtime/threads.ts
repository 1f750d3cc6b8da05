import { second } from "../domain/time.ts";
import { createLog, type ErrorEvent, type Log, type LogLevel } from "./log.ts";
import {
  type FromThread,
  Link,
  plainError,
  type Remote,
  type ThreadContract,
  type ToThread,
  thrownError,
} from "./thread-link.ts";

interface ThreadOptions<Contract extends ThreadContract> {
  /** The name in the log. */
  readonly name: string;
  /** The URL of a module that calls `runThread` with the same contract. */
  readonly program: string;
  readonly start: Contract["start"];
  readonly logLevel: LogLevel;
  readonly log: Log;
  /** Called when the thread has failed or ended unexpectedly. It is not restarted. */
  readonly failed: (error: Error) => void;
  /** The methods that it may call here. */
  readonly offered: Contract["calls"];
}

/** A thread that this one has started. */
export interface Thread<Contract extends ThreadContract> {
  /** Rejects with the error of its start. */
  readonly started: Promise<void>;
  /** The methods that it offers. Calls wait until it has started. */
  readonly remote: Remote<Contract["offers"]>;
  end(): void;
}

/** Starts a thread and writes its log. */
export function startThread<Contract extends ThreadContract>(
  options: ThreadOptions<Contract>,
): Thread<Contract> {
  const { name, program, start, logLevel, log, failed, offered } = options;
  const { promise: started, resolve, reject } = Promise.withResolvers<void>();
  /** By `end`, or by a failure. */
  let hasEnded = false;
  const worker = new Worker(program);
  const post = (message: ToThread) => worker.postMessage(message);
  const link = new Link<Contract["offers"]>(post, () => offered);
  worker.onmessage = ({ data }: MessageEvent<FromThread>) => {
    if ("log" in data) log.raw(data.log);
    else if ("logError" in data) log.countError(data.logError);
    else if ("failed" in data) reject(thrownError(data.failed));
    else if ("started" in data) resolve();
    else link.received(data);
  };
  const failedWith = (error: Error) => {
    if (hasEnded) return;
    hasEnded = true;
    log.failure("thread_failed", error, { thread: name });
    link.broken(error);
    reject(error);
    failed(error);
  };
  worker.onerror = ({ message }) => failedWith(new Error(message));
  worker.addEventListener("close", () => failedWith(new Error(`The thread ${name} has ended unexpectedly`)));
  post({ start, logLevel, replica: log.replica });

  started.catch((error) => {
    hasEnded = true;
    link.broken(error);
    worker.terminate();
  });
  return {
    started,
    remote: link.remote,
    end() {
      hasEnded = true;
      link.broken(new Error(`The thread ${name} has ended`));
      worker.terminate();
    },
  };
}

declare const self: Worker;

/** The arguments with which a thread starts. */
interface ThreadStart<Contract extends ThreadContract> {
  readonly start: Contract["start"];
  /** The link to the thread that started this one. */
  readonly link: Link<Contract["calls"]>;
  /** A log whose lines are written by the thread that started this one. */
  readonly log: Log;
}

/** Runs this thread. `begin` returns the methods that the thread offers. */
export function runThread<Contract extends ThreadContract>(
  begin: (start: ThreadStart<Contract>) => Promise<Contract["offers"]>,
): void {
  const begun = Promise.withResolvers<Contract["offers"]>();
  const send = (message: FromThread) => self.postMessage(message);
  const link = new Link<Contract["calls"]>(send, () => begun.promise);
  self.onmessage = async ({ data }: MessageEvent<ToThread>) => {
    if (!("start" in data)) return link.received(data);
    try {
      const sink = {
        write: (lines: Uint8Array<ArrayBuffer>) => send({ log: lines }),
        flush: async () => {},
        linesLeftOut: 0,
        countError: (event: ErrorEvent) => send({ logError: event }),
      };
      const log = createLog(data.logLevel, Date.now, sink, data.replica);
      // A boundary: the thread is started with the same contract.
      begun.resolve(await begin({ start: data.start as Contract["start"], link, log }));
      send({ started: true });
    } catch (error) {
      begun.reject(error);
      begun.promise.catch(() => {}); // no call may be waiting for it
      send({ failed: plainError(error) });
    }
  };
}

/** The log's reader may be stuck, and nothing may be sent meanwhile. */
const longestFlushMs = second;

/** Prints a message on standard error and ends the process with code 1, when the log is written or a second later. */
export function exitWith(message: string, log: Pick<Log, "flush">): void {
  process.stderr.write(`onair: ${message}\n`);
  const exit = () => process.exit(1);
  setTimeout(exit, longestFlushMs);
  log.flush().then(exit, exit);
}

/**
 * Returns a function that ends the process with code 1 after the failure of a thread that it cannot do without. A
 * service manager then restarts it.
 */
export function exitWithout(thread: string, log: Pick<Log, "flush">): () => void {
  const message = `The ${thread} thread has failed, so nothing can be stored or delivered. The log has the reason (thread_failed). Restart the server.`;
  return () => exitWith(message, log);
}
