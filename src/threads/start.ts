import { errorFields, type Log, type LogLevel } from "../log/log.ts";
import type { Remote, ThreadContract } from "./contract.ts";
import { Link } from "./link.ts";
import { type FromThread, type ToThread, thrownError } from "./messages.ts";

interface ThreadOptions<Contract extends ThreadContract> {
  /** Its name in the log. */
  readonly name: string;
  /** The URL of a module that calls `runThread` with the same contract. */
  readonly program: string;
  readonly start: Contract["start"];
  readonly logLevel: LogLevel;
  readonly log: Log;
  /** Called when it broke down, or has ended by itself: it is not started again. */
  readonly failed: (error: Error) => void;
  /** What it may call here. */
  readonly offered: Contract["calls"];
}

/** A thread that was started from here. */
export interface Thread<Contract extends ThreadContract> {
  /** Rejects with what starting it threw. */
  readonly started: Promise<void>;
  /** What it offers. Calls wait until it has started. */
  readonly remote: Remote<Contract["offers"]>;
  end(): void;
}

/** Starts a thread, whose log is written here. */
export function startThread<Contract extends ThreadContract>(
  options: ThreadOptions<Contract>,
): Thread<Contract> {
  const { name, program, start, logLevel, log, failed, offered } = options;
  const { promise: started, resolve, reject } = Promise.withResolvers<void>();
  /** By `end`, or because it broke down. */
  let hasEnded = false;
  const worker = new Worker(program);
  const post = (message: ToThread) => worker.postMessage(message);
  const link = new Link<Contract["offers"]>(post, () => offered);
  worker.onmessage = ({ data }: MessageEvent<FromThread>) => {
    if ("log" in data) log.raw(data.log);
    else if ("failed" in data) reject(thrownError(data.failed));
    else if ("started" in data) resolve();
    else link.received(data);
  };
  const broke = (error: Error) => {
    if (hasEnded) return;
    hasEnded = true;
    log.error("thread_failed", { thread: name, ...errorFields(error) });
    link.broken(error);
    reject(error);
    failed(error);
  };
  worker.onerror = ({ message }) => broke(new Error(message));
  worker.addEventListener("close", () => broke(new Error(`The thread ${name} has ended by itself`)));
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
