/** What changes in that time is read at once. */
const gatherMs = 50;
const againAfterMs = 500;

/** A read that is repeated where the data may have changed. */
export interface Rereading {
  /** Asks for it: it runs soon, once more when it runs already, and again after a failure. */
  ask(): void;
  /** Begins none any more. */
  stop(): void;
}

/** One `read` runs at a time, and the last one begins after the last `ask`. */
export function rereading(read: () => Promise<void>): Rereading {
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
        // The storage reports by itself that it cannot be used.
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
