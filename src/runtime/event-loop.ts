import { type Histogram, newHistogram, observe } from "../domain/statistics.ts";
import { second } from "../domain/time.ts";
import { systemTimers, type Timers } from "./timers.ts";

/** About the time of ten requests that are answered from memory. */
const sliceMs = 0.2;

/**
 * A time slice, so that work of many small steps does not block the event loop: `if (slice.isOver) await slice.next()`.
 */
export class TimeSlice {
  #began = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#began >= sliceMs;
  }

  async next(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#began = performance.now();
  }
}

/**
 * Returns a function that collects items. `handle` is called with all items of one tick of the event loop at its end.
 */
export function batchedPerTick<Item>(handle: (items: Item[]) => void): (item: Item) => void {
  let batch: Item[] = [];
  const handleBatch = () => {
    const items = batch;
    batch = [];
    handle(items);
  };
  return (item) => {
    if (batch.length === 0) setImmediate(handleBatch);
    batch.push(item);
  };
}

let tick: Promise<void> | null = null;

/** Resolves when all sockets of this tick of the event loop have been read. All calls of a tick share the promise. */
export function endOfTick(): Promise<void> {
  tick ??= new Promise((resolve) => {
    setImmediate(() => {
      tick = null;
      resolve();
    });
  });
  return tick;
}

/** Resolves to the value of a promise, or to null after `ms`. */
export async function inTime<Value>(
  promise: Promise<Value>,
  ms: number,
  timers: Timers = systemTimers,
): Promise<Value | null> {
  const late = Promise.withResolvers<null>();
  const cancel = timers.after(ms, () => late.resolve(null));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    cancel();
  }
}

const sampleEveryMs = second / 2;
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1] as const;

/** Samples the delay of this thread's event loop twice a second, in seconds: the time that a request would wait. */
export function watchEventLoop(): { readonly delay: Histogram; stop(): void } {
  const delay = newHistogram(bounds);
  let due = performance.now() + sampleEveryMs;
  const timer = setInterval(() => {
    const now = performance.now();
    observe(delay, Math.max(0, now - due) / 1000, null);
    due = now + sampleEveryMs;
  }, sampleEveryMs);
  timer.unref();
  return { delay, stop: () => clearInterval(timer) };
}
