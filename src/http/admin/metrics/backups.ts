import type { AdminDeps } from "../base.ts";
import { type AnyMetric, counters, gauge } from "./exposition.ts";

/** Metrics of the backups that are known without access to their destination; none if On Air makes no backups. */
export function backupMetrics({ backups }: AdminDeps): AnyMetric[] {
  const { state } = backups;
  if (state === null) return [];
  const { isListed, newestAt, everyMs, made, failed } = state;
  return [
    ...gauge(
      "onair_last_backup_timestamp_seconds",
      "Start time of the newest backup, since the epoch; 0 if there is none.",
      isListed ? (newestAt ?? 0) / 1000 : null,
    ),
    ...gauge(
      "onair_backup_every_seconds",
      "Interval of scheduled backups; 0 if there is no schedule.",
      (everyMs ?? 0) / 1000,
    ),
    counters("onair_backups", "Backups since the start.", "outcome", { done: made, failed }),
  ];
}
