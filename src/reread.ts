/** What changes in that time is read at once. */
const gatherMs = 50;
const againAfterMs = 500;

/**
 * A function that asks for `read`, which then runs soon; once more when it is asked for while it runs, and again after a
 * failure. So that one runs at a time, and the last begins after the last question.
 */
export function rereading(read: () => Promise<void>): () => void {
  let isAsked = false;
  let isRunning = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    while (isAsked) {
      await Bun.sleep(gatherMs);
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
  return () => {
    isAsked = true;
    if (!isRunning) void run();
  };
}
