import type { DispatcherStats } from "../../src/delivery/attempt.ts";

const longestMs = 30_000;
/** The longest pause between two looks. */
const longestPauseMs = 50;

/** Waits for several iterations of the event loop, so that work which needs nothing else has started. */
export async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

/**
 * Resolves when the condition holds. Rejects after 30 seconds with a message. Time in which this process did not run,
 * as on an overloaded machine, does not count. The pauses between looks grow with the wait, because looking at a server
 * all the time takes a processor: by them a wait becomes at most a tenth longer.
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  otherwise = () => "the condition did not hold",
): Promise<void> {
  let waitedMs = 0;
  for (let lookedAt = performance.now(); !(await holds()); lookedAt = performance.now()) {
    if (waitedMs > longestMs) throw new Error(`${otherwise()} in 30 seconds`);
    await Bun.sleep(Math.min(Math.max(1, waitedMs / 10), longestPauseMs));
    waitedMs += Math.min(performance.now() - lookedAt, 100);
  }
}

/** Resolves when a dispatcher has no attempt in flight, none queued, and no write outstanding. */
export async function untilSettled(stats: () => DispatcherStats | Promise<DispatcherStats>): Promise<void> {
  for (let quiet = 0; quiet < 5; ) {
    const { inFlight, queued, unrecorded, waiting } = await stats();
    quiet = inFlight + queued + unrecorded + waiting === 0 ? quiet + 1 : 0;
    await Bun.sleep(1);
  }
}
