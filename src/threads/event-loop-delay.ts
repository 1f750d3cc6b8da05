import { type Histogram, newHistogram, observe } from "../domain/operations/histogram.ts";
import { second } from "../domain/time.ts";

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
