import type { KindSizes } from "../../domain/operations/kind-sizes.ts";
import type { StatisticKind, StatisticPeriod, StatisticRow } from "../../domain/operations/statistics.ts";

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
