import type { KindSizes } from "./sizes.ts";
import { day, hour, minute } from "./time.ts";

/** An observed value, with labels that identify it in the log and in traces. */
export interface Exemplar {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Counts of observed values by size. Plain data, so that it can be sent to another thread. */
export interface Histogram {
  /** The upper bounds of the buckets, ascending; the last bucket has none. */
  readonly bounds: readonly number[];
  readonly counts: number[];
  /** The newest value with labels of each bucket. */
  readonly exemplars: (Exemplar | null)[];
  sum: number;
}

export function newHistogram(bounds: readonly number[]): Histogram {
  const buckets = bounds.length + 1;
  return { bounds, counts: Array(buckets).fill(0), exemplars: Array(buckets).fill(null), sum: 0 };
}

export function observe(histogram: Histogram, value: number, exemplar: Omit<Exemplar, "value"> | null): void {
  const { bounds, counts, exemplars } = histogram;
  const bucket = bucketOf(bounds, value);
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  histogram.sum += value;
  if (exemplar) exemplars[bucket] = { labels: exemplar.labels, value, at: exemplar.at };
}

/** The index of the bucket of a value, by the upper bounds of all but the last. */
function bucketOf(bounds: readonly number[], value: number): number {
  let bucket = 0;
  while (value > (bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
  return bucket;
}

/** Statistics that are counted in memory: outcomes of deliveries, requests by operation, and by application. */
type CountedKind = "deliveries" | "requests" | "applications";
/** For the storage, the sum of samples and their number are stored. */
export type StatisticKind = CountedKind | "storage";

/** The length of the period that a row covers, and how long the row is kept. */
export const statisticPeriods = {
  minute: { ms: minute, keepMs: 2 * hour },
  hour: { ms: hour, keepMs: 8 * day },
  day: { ms: day, keepMs: 9 * day },
} as const;
export type StatisticPeriod = keyof typeof statisticPeriods;

/**
 * The outcomes of deliveries, as the dispatcher sees them: `retried` is a failed attempt that will be repeated,
 * `streamed` a delivery that can be read on the event stream, `filtered` an event that made no delivery, because it did
 * not match the application's filter.
 */
export const deliveryOutcomes = [
  "delivered",
  "retried",
  "failed",
  "expired",
  "canceled",
  "streamed",
  "filtered",
] as const;

/** The subject of the row that counts all. */
export const allSubjects = "";

/** The upper bounds of a histogram's buckets, in milliseconds; the last bucket has none. */
const durationBounds: readonly number[] = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 60_000, 300_000,
];

/** Counts of one subject in one period. */
export interface PeriodCounts {
  readonly counts: Readonly<Record<string, number>>;
  /** The number of durations in each bucket; empty when none was measured. */
  readonly durations: readonly number[];
}

export interface StatisticRow extends PeriodCounts {
  readonly kind: StatisticKind;
  /** An application, an operation, or `allSubjects`. */
  readonly subject: string;
  /** When the period began, in milliseconds since the epoch. */
  readonly at: number;
}

const none: PeriodCounts = { counts: {}, durations: [] };

/** Adds two counts, name by name and bucket by bucket. */
export function sumOf(a: PeriodCounts, b: PeriodCounts): PeriodCounts {
  const counts = { ...a.counts };
  for (const [name, many] of Object.entries(b.counts)) counts[name] = (counts[name] ?? 0) + many;
  const [longer = [], shorter = []] = [a.durations, b.durations].sort((x, y) => y.length - x.length);
  return { counts, durations: longer.map((many, i) => many + (shorter[i] ?? 0)) };
}

export const sumOfAll = (periods: readonly PeriodCounts[]): PeriodCounts => periods.reduce(sumOf, none);

/**
 * Returns the duration in milliseconds below which a share of the measured durations lies, interpolated within its
 * bucket; null when none was measured.
 */
export function quantile({ durations }: PeriodCounts, share: number): number | null {
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

/** The most subjects of a kind with their own counts in one minute, `allSubjects` included. */
const maxSubjects = { deliveries: 2_000, requests: 2_000, applications: 10_000 };
/** The most applications whose requests are stored each time: those with the most. */
const maxStoredApplications = 20;

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
  /** When the current minute began. */
  #at = 0;
  readonly #subjects: Readonly<Record<CountedKind, Map<string, Growing>>> = {
    deliveries: new Map(),
    requests: new Map(),
    applications: new Map(),
  };

  constructor(readonly now: () => number) {}

  /**
   * Counts `name`, and `also` if given, for a subject and for `allSubjects`. Subjects beyond `maxSubjects` in a minute
   * are counted only for `allSubjects`.
   */
  count(kind: CountedKind, subject: string, name: string, durationMs: number | null, also?: string): void {
    const now = this.now();
    if (now < this.#at || now >= this.#at + minute) this.#begin(Math.floor(now / minute) * minute);
    const bucket = durationMs === null ? -1 : bucketOf(durationBounds, durationMs);
    const subjects = this.#subjects[kind];
    for (const counted of [allSubjects, subject]) {
      let row = subjects.get(counted);
      if (!row) {
        if (subjects.size >= maxSubjects[kind]) return;
        row = { kind, subject: counted, at: this.#at, counts: {}, durations: [] };
        subjects.set(counted, row);
      }
      row.counts[name] = (row.counts[name] ?? 0) + 1;
      if (also !== undefined) row.counts[also] = (row.counts[also] ?? 0) + 1;
      if (bucket < 0) continue;
      while (row.durations.length <= bucket) row.durations.push(0);
      row.durations[bucket] = (row.durations[bucket] ?? 0) + 1;
    }
  }

  /** Returns the rows counted since the last call. */
  take(): StatisticRow[] {
    this.#begin(this.#at);
    const rows = this.#taken;
    this.#taken = [];
    return rows;
  }

  #begin(at: number): void {
    this.#at = at;
    const { applications, ...others } = this.#subjects;
    for (const subjects of Object.values(others)) this.#taken.push(...subjects.values());
    // The row of `allSubjects` has the most requests, and comes beside the applications.
    const most = [...applications.values()].sort((a, b) => requestsOf(b) - requestsOf(a));
    this.#taken.push(...most.slice(0, maxStoredApplications + 1));
    for (const subjects of Object.values(this.#subjects)) subjects.clear();
  }
}

const requestsOf = ({ counts }: PeriodCounts) => counts["requests"] ?? 0;

/** The use of a thread's connections to a database server. */
export interface ConnectionUse {
  /** The most connections. */
  readonly limit: number;
  /** Connections with a statement or a transaction in progress. */
  readonly inUse: number;
  /** Statements and transactions that wait until others have ended. */
  readonly waiting: number;
  /** The time from the call of a statement to its answer, in seconds, with the wait for a connection. */
  readonly statementSeconds: Histogram;
}

/** Counts of deliveries and requests per minute, hour and day, kept as long as `statisticPeriods` says. */
export interface StatisticStore {
  /** Adds counts of minutes to the stored counts of their minutes, hours and days. A few hundred rows at most. */
  add(rows: readonly StatisticRow[]): Promise<void>;
  /** Counts of periods that began from `from` to before `to`, in order. A null `subject` selects all but the total. */
  read(question: StatisticQuestion): Promise<StatisticRow[]>;
  /** The size of the database in bytes, without its write-ahead log. */
  databaseBytes(): Promise<number>;
  /**
   * Bytes used by each kind of data. With a data directory this reads the whole database and blocks the thread
   * meanwhile.
   */
  kindSizes(): Promise<KindSizes>;
  /** The use of this thread's connections; null with a data directory. */
  connectionUse(): Promise<ConnectionUse | null>;
  /** Removes some counts that are too old. Resolves to true when none of them is left. */
  prune(now: number): Promise<boolean>;
}

interface StatisticQuestion {
  readonly kind: StatisticKind;
  readonly subject: string | null;
  readonly period: StatisticPeriod;
  readonly from: number;
  readonly to: number;
}

/** The most subjects with a count of their own. */
const maxBounded = 100;
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
    if (known === undefined && oldest && this.#counts.size >= maxBounded) {
      if (now - oldest[1].at < keptMs) {
        this.#others++;
        return;
      }
      this.#counts.delete(oldest[0]);
    }
    this.#counts.set(subject, { count: (known?.count ?? 0) + 1, at: now });
  }

  /** Counts by subject, and the shared count. */
  counts(): Record<string, number> {
    const counts = [...this.#counts].map(([subject, { count }]) => [subject, count]);
    return { ...Object.fromEntries(counts), [otherSubjects]: this.#others };
  }
}
