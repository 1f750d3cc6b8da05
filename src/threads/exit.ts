import type { Log } from "../log/log.ts";

/**
 * Ends the process with code 1 once it has lost a thread without which it neither keeps nor delivers anything; a service
 * manager starts it again.
 */
export function exitWithout(thread: string, log: Pick<Log, "flush">): () => void {
  return () => {
    process.stderr.write(
      `onair: The thread ${thread} has ended, without which nothing is kept or delivered; the log says why (thread_failed). Start it again.\n`,
    );
    void log
      .flush()
      .catch(() => {})
      .then(() => process.exit(1));
  };
}
