/** The delay before a read, in which further requests are gathered. */
const gatherMs = 50;
const againAfterMs = 500;

/** A read that is repeated on request, because the data may have changed. */
export interface RepeatedRead {
  /** Requests a read. It begins soon, after the end of one in progress, and is retried after a failure. */
  ask(): void;
  /** Ends repeating. */
  stop(): void;
}

/** Returns a repeated read. One `read` runs at a time, and the last one begins after the last request. */
export function repeatedRead(read: () => Promise<void>): RepeatedRead {
  let isAsked = false;
  let isRunning = false;
  let isStopped = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    while (isAsked) {
      await Bun.sleep(gatherMs);
      if (isStopped) return;
      isAsked = false;
      try {
        await read();
      } catch {
        // Not logged here: the storage reports its own failures.
        isAsked = true;
        await Bun.sleep(againAfterMs);
      }
    }
    isRunning = false;
  };
  return {
    ask() {
      isAsked = true;
      if (!isRunning && !isStopped) void run();
    },
    stop() {
      isStopped = true;
    },
  };
}
