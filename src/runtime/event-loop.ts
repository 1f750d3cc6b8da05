import { type Histogram, newHistogram, observe } from "../domain/statistics.ts";
import { second } from "../domain/time.ts";

/** Timers: those of the system, or those of a clock that a test moves. */
export interface Timers {
  /** Calls `work` after `ms` milliseconds. Returns a function that cancels that. */
  readonly after: (ms: number, work: () => void) => () => void;
  /** Resolves after `ms` milliseconds, or as soon as the signal is aborted. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Returns timers whose pauses are made of `after`. */
export function timersBy(after: Timers["after"]): Timers {
  return {
    after,
    pause(ms, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (signal?.aborted) return Promise.resolve();
      const end = (): void => {
        cancel();
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const cancel = after(ms, end);
      signal?.addEventListener("abort", end);
      return promise;
    },
  };
}

/** The timers of the system. */
export const systemTimers: Timers = timersBy((ms, work) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
});

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

/** The pieces of work of one kind that are in progress. */
export class InProgress {
  /** The times at which they began, the oldest first. */
  readonly #begun = new Set<{ readonly at: number }>();

  /** @param now a clock that is never set */
  constructor(readonly now: () => number = performance.now.bind(performance)) {}

  /** Counts a promise as in progress since `at` until it settles. Returns the same promise. */
  add<Value>(work: Promise<Value>, at = this.now()): Promise<Value> {
    const begun = { at };
    this.#begun.add(begun);
    const end = () => void this.#begun.delete(begun);
    work.then(end, end);
    return work;
  }

  /** For how long the oldest piece of work has been in progress; 0 for none. */
  get oldestMs(): number {
    const [oldest] = this.#begun;
    return oldest ? this.now() - oldest.at : 0;
  }
}

/** How long a slice lasts: about the time of ten requests that are answered from memory. */
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
