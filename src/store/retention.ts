import type { Retention } from "../domain/deliveries.ts";

/** Removes old data, in small steps. */
export interface RetentionStore {
  /** Removes some of the data that is older than `retention`. Resolves to true when nothing is left to remove. */
  prune(retention: Retention, now: number): Promise<boolean>;
  /**
   * Removes some finished deliveries while the data is nearly as large as `maxBytes` (null for no limit): first the
   * delivered ones, oldest first, then all others. Resolves to true when there is nothing to remove. Also sets the size
   * at which publishing is refused. Does nothing on PostgreSQL.
   */
  trim(maxBytes: number | null): Promise<boolean>;
  /**
   * Returns some free space of the file to the file system, if the database can. Resolves to true when none is left.
   */
  shrink(): Promise<boolean>;
}
