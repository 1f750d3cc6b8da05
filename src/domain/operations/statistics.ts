import { day, hour, minute } from "../time.ts";
import { bucketOf } from "./histogram.ts";

/** What is counted in memory: what became of deliveries, and requests by operation. */
type CountedKind = "deliveries" | "requests";
/** Of the storage, sums of samples are kept, and how many there were. */
export type StatisticKind = CountedKind | "storage";

/** The length of what one row counts, and how long it is kept. */
export const statisticPeriods = {
  minute: { ms: minute, keepMs: 2 * hour },
  hour: { ms: hour, keepMs: 8 * day },
  day: { ms: day, keepMs: 9 * day },
} as const;
export type StatisticPeriod = keyof typeof statisticPeriods;

/**
 * What becomes of a delivery, as the dispatcher sees it: `retried` is an attempt that failed and is made again,
 * `streamed` a delivery that can be read on the event stream.
 */
export const deliveryOutcomes = [
  "delivered",
  "retried",
  "failed",
  "expired",
  "canceled",
  "streamed",
] as const;

/** The subject of the row that counts all. */
export const allSubjects = "";

/** The upper bounds of a histogram's buckets, in milliseconds; the last bucket has none. */
const durationBounds: readonly number[] = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 60_000, 300_000,
];

/** Counts of one subject in one period. */
export interface Tally {
  readonly counts: Readonly<Record<string, number>>;
  /** How many took how long, by bucket; empty where nothing was measured. */
  readonly durations: readonly number[];
}

export interface StatisticRow extends Tally {
  readonly kind: StatisticKind;
  /** An application, an operation, or `allSubjects`. */
  readonly subject: string;
  /** When the period began, in milliseconds since the epoch. */
  readonly at: number;
}

const none: Tally = { counts: {}, durations: [] };

/** The sum of two tallies. */
export function sumOf(one: Tally, other: Tally): Tally {
  const counts = { ...one.counts };
  for (const [name, many] of Object.entries(other.counts)) counts[name] = (counts[name] ?? 0) + many;
  const [longer, shorter] =
    one.durations.length >= other.durations.length
      ? [one.durations, other.durations]
      : [other.durations, one.durations];
  return { counts, durations: longer.map((many, i) => many + (shorter[i] ?? 0)) };
}

export const sumOfAll = (tallies: readonly Tally[]): Tally => tallies.reduce(sumOf, none);

/** The value below which a share of the measured lies, in milliseconds, to the exactness of its bucket; null: none. */
export function quantile({ durations }: Tally, share: number): number | null {
  const total = durations.reduce((sum, many) => sum + many, 0);
  if (total === 0) return null;
  let below = 0;
  for (const [i, many] of durations.entries()) {
    if (below + many < share * total) {
      below += many;
      continue;
    }
    const [from, to] = [durationBounds[i - 1] ?? 0, durationBounds[i] ?? durationBounds.at(-1) ?? 0];
    const inside = from + ((share * total - below) / many) * (to - from);
    return Math.round(inside * 100) / 100;
  }
  return durationBounds.at(-1) ?? null;
}

/** Subjects that are counted apart in one minute, besides all together. */
const maxSubjects = 2_000;

interface Growing {
  readonly kind: StatisticKind;
  readonly subject: string;
  readonly at: number;
  readonly counts: Record<string, number>;
  readonly durations: number[];
}

/** Counts in memory until they are taken to be stored. */
export class StatisticCounter {
  #taken: Growing[] = [];
  /** Of the present minute. */
  #at = 0;
  #subjects = { deliveries: new Map<string, Growing>(), requests: new Map<string, Growing>() };

  constructor(readonly now: () => number) {}

  /**
   * Counts for a subject and for all; `also` is a second name that is counted. Beyond `maxSubjects` of a minute a subject
   * is counted with all alone.
   */
  count(kind: CountedKind, subject: string, name: string, durationMs: number | null, also?: string): void {
    const now = this.now();
    if (now < this.#at || now >= this.#at + minute) this.#begin(Math.floor(now / minute) * minute);
    const bucket = durationMs === null ? -1 : bucketOf(durationBounds, durationMs);
    const subjects = this.#subjects[kind];
    for (const one of [allSubjects, subject]) {
      let row = subjects.get(one);
      if (!row) {
        if (subjects.size >= maxSubjects) return;
        row = { kind, subject: one, at: this.#at, counts: {}, durations: [] };
        subjects.set(one, row);
      }
      row.counts[name] = (row.counts[name] ?? 0) + 1;
      if (also !== undefined) row.counts[also] = (row.counts[also] ?? 0) + 1;
      if (bucket < 0) continue;
      while (row.durations.length <= bucket) row.durations.push(0);
      row.durations[bucket] = (row.durations[bucket] ?? 0) + 1;
    }
  }

  /** What was counted since the last call. */
  take(): StatisticRow[] {
    this.#begin(this.#at);
    const rows = this.#taken;
    this.#taken = [];
    return rows;
  }

  #begin(at: number): void {
    this.#at = at;
    for (const subjects of Object.values(this.#subjects)) {
      this.#taken.push(...subjects.values());
      subjects.clear();
    }
  }
}
