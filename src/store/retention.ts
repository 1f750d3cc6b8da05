import type { Retention } from "../domain/deliveries.ts";

/** Removes what is no longer kept. */
export interface RetentionStore {
  /** Removes some of what is older than `retention` says; true when nothing was left to remove. */
  prune(retention: Retention, now: number): Promise<boolean>;
  /**
   * Removes some of what has ended, the oldest that arrived before everything else, while the data takes nearly
   * `maxBytes`; true when there is nothing to remove. From then on publishing is refused while it takes `maxBytes`. Null
   * is no limit. On PostgreSQL it does nothing.
   */
  trim(maxBytes: number | null): Promise<boolean>;
  /** Gives some of the free space of the file back to the disk, where the database can; true when there is none to give. */
  shrink(): Promise<boolean>;
}
