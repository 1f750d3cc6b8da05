import { second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";

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
