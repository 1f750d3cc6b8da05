import type { Retention } from "../domain/deliveries.ts";

/** Removes what is no longer kept. */
export interface RetentionStore {
  /** Removes some of what is older than `retention` says; true when nothing was left to remove. */
  prune(retention: Retention, now: number): Promise<boolean>;
}
