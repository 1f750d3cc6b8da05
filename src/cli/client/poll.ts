const firstPauseMs = 20;
const longestPauseMs = 1_000;

/** Calls `look` at growing intervals until the operation is no longer in progress. */
export async function poll(isRunning: () => boolean, look: () => Promise<void>): Promise<void> {
  for (let pause = firstPauseMs; isRunning(); pause = Math.min(longestPauseMs, pause * 1.5)) {
    await Bun.sleep(pause);
    await look();
  }
}
