import { day, hour, minute } from "../time.ts";

/** What is counted: what became of deliveries, and requests by operation. */
export type StatisticKind = "deliveries" | "requests";

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
  #rows = new Map<string, Growing>();

  constructor(readonly now: () => number) {}

  /** Counts for a subject and for all. Beyond `maxSubjects` of a minute a subject is counted with all alone. */
  count(kind: StatisticKind, subject: string, names: readonly string[], durationMs: number | null): void {
    const at = Math.floor(this.now() / minute) * minute;
    this.#add(kind, allSubjects, at, names, durationMs);
    if (subject !== allSubjects) this.#add(kind, subject, at, names, durationMs);
  }

  /** What was counted since the last call. */
  take(): StatisticRow[] {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    return rows;
  }

  #add(
    kind: StatisticKind,
    subject: string,
    at: number,
    names: readonly string[],
    durationMs: number | null,
  ): void {
    const key = `${kind} ${at} ${subject}`;
    let row = this.#rows.get(key);
    if (!row) {
      if (this.#rows.size >= maxSubjects && subject !== allSubjects) return;
      row = { kind, subject, at, counts: {}, durations: [] };
      this.#rows.set(key, row);
    }
    for (const name of names) row.counts[name] = (row.counts[name] ?? 0) + 1;
    if (durationMs === null) return;
    let bucket = 0;
    while (durationMs > (durationBounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    while (row.durations.length <= bucket) row.durations.push(0);
    row.durations[bucket] = (row.durations[bucket] ?? 0) + 1;
  }
}
