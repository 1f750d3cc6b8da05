import { second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";

/** The log has so long to be written. */
const flushMs = second;

/**
 * Ends the process with code 1 once it has lost a thread without which it neither keeps nor delivers anything; a service
 * manager starts it again.
 */
export function exitWithout(thread: string, log: Pick<Log, "flush">): () => void {
  return () => {
    process.stderr.write(
      `onair: The thread ${thread} has ended, without which nothing is kept or delivered; the log says why (thread_failed). Start it again.\n`,
    );
    const flushed = log.flush().catch(() => {});
    void Promise.race([flushed, Bun.sleep(flushMs)]).then(() => process.exit(1));
  };
}
