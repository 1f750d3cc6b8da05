/** The longest time of a timer; timers set for longer fire at once. */
const longestMs = 2 ** 31 - 1;

/** Waits, at most 24 days. Resolves early at the signal, without an error. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, longestMs));
    signal?.addEventListener("abort", end);
  });
}
