import type { Log } from "../log/log.ts";

/**
 * Returns a function that ends the process with code 1 after the failure of a thread that it cannot do without. A
 * service manager then restarts it.
 */
export function exitWithout(thread: string, log: Pick<Log, "flush">): () => void {
  return () => {
    process.stderr.write(
      `onair: The ${thread} thread has failed, so nothing can be stored or delivered. The log has the reason (thread_failed). Restart the server.\n`,
    );
    void log
      .flush()
      .catch(() => {})
      .then(() => process.exit(1));
  };
}
