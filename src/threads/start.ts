import type { Log, LogLevel } from "../log/log.ts";
import type { Remote, ThreadContract } from "./contract.ts";
import { Link } from "./link.ts";
import { type FromThread, type ToThread, thrownError } from "./messages.ts";

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
  post({ start, logLevel });

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
