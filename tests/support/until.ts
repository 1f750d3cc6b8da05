import type { DispatcherStats } from "../../src/webhooks/dispatcher.ts";

const longestMs = 30_000;

/** Lets turns of the event loop pass. Work that waits for nothing but its turn has started by then. */
export async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

/**
 * Resolves when it is so; rejects after 30 seconds with what is said then. Time in which this process did not run, as
 * on a machine that stood still, does not count.
 */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  otherwise = () => "it did not come to that",
): Promise<void> {
  let waitedMs = 0;
  for (let lookedAt = performance.now(); !(await isSo()); lookedAt = performance.now()) {
    if (waitedMs > longestMs) throw new Error(`${otherwise()} in 30 seconds`);
    await Bun.sleep(1);
    waitedMs += Math.min(performance.now() - lookedAt, 100);
  }
}

/** Resolves when a dispatcher has nothing under way, and nothing that waits for its turn or for the store. */
export async function untilSettled(stats: () => DispatcherStats | Promise<DispatcherStats>): Promise<void> {
  for (let quiet = 0; quiet < 5; ) {
    const { inFlight, queued, unrecorded, waiting } = await stats();
    quiet = inFlight + queued + unrecorded + waiting === 0 ? quiet + 1 : 0;
    await Bun.sleep(1);
  }
}
