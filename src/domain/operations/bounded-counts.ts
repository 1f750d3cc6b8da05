import { hour } from "../time.ts";

/** The most subjects with a count of their own. */
const maxSubjects = 100;
/** A subject may be replaced after this time without a count. */
const keptMs = hour;
/** The name of the shared count of all others. */
const otherSubjects = "other";

/**
 * Counts by subject, for a monitoring system that stores a series for each: a bounded number of subjects has a count of
 * its own, all others share one.
 */
export class BoundedCounts {
  /** The least recently counted first. */
  readonly #counts = new Map<string, { count: number; at: number }>();
  #others = 0;

  count(subject: string, now: number): void {
    const known = this.#counts.get(subject);
    this.#counts.delete(subject);
    const [oldest] = this.#counts;
    if (known === undefined && oldest && this.#counts.size >= maxSubjects) {
      if (now - oldest[1].at < keptMs) {
        this.#others++;
        return;
      }
      this.#counts.delete(oldest[0]);
    }
    this.#counts.set(subject, { count: (known?.count ?? 0) + 1, at: now });
  }

  /** Counts by subject, and the shared count. */
  shown(): Record<string, number> {
    const counts = [...this.#counts].map(([subject, { count }]) => [subject, count]);
    return { ...Object.fromEntries(counts), [otherSubjects]: this.#others };
  }
}
