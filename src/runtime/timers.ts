/** What waits for a time to pass: the system's timers, or those of a clock that a test moves. */
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
