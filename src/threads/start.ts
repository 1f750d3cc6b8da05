import { errorFields, type Log, type LogLevel } from "../log.ts";
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
  /** Called when it broke down. */
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
  const worker = new Worker(program);
  const post = (message: ToThread) => worker.postMessage(message);
  const link = new Link<Contract["offers"]>(post, () => offered);
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
  post({ start, logLevel });
  started.catch((error) => {
    link.broken(error);
    worker.terminate();
  });
  return {
    started,
    remote: link.remote,
    end() {
      link.broken(new Error(`The thread ${name} has ended`));
      worker.terminate();
    },
  };
}
