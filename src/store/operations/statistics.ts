import type { KindSizes } from "../../domain/operations/kind-sizes.ts";
import type { StatisticKind, StatisticPeriod, StatisticRow } from "../../domain/operations/statistics.ts";

/** Counts of deliveries and requests by minute, hour and day; how long each is kept says `statisticPeriods`. */
export interface StatisticStore {
  /** Adds counts of minutes to what is stored, and to their hours and days. Some hundred rows at most. */
  add(rows: readonly StatisticRow[]): Promise<void>;
  /** Those of one subject, or of each but all together (null), that began from `from` on and before `to`, in order. */
  read(question: StatisticQuestion): Promise<StatisticRow[]>;
  /** The size of the database in bytes, without a write-ahead log beside it. */
  databaseBytes(): Promise<number>;
  /** What the kinds of data take. In a data directory it reads all of the database, and holds up the thread for that long. */
  kindSizes(): Promise<KindSizes>;
  /** Removes some of those that need not be kept; true: there are no more of them. */
  prune(now: number): Promise<boolean>;
}

interface StatisticQuestion {
  readonly kind: StatisticKind;
  readonly subject: string | null;
  readonly period: StatisticPeriod;
  readonly from: number;
  readonly to: number;
}
