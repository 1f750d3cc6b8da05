import type { AdminDeps } from "../base.ts";
import type { AnyMetric } from "./exposition.ts";
import { counters, gauge } from "./metric.ts";

/** The backups, as far as they are known without asking where they are; none where they are made elsewhere. */
export function backupMetrics({ backups }: AdminDeps): AnyMetric[] {
  const { state } = backups;
  if (state === null) return [];
  const { isListed, newestAt, everyMs, made, failed } = state;
  return [
    ...gauge(
      "onair_last_backup_timestamp_seconds",
      "When the newest backup was begun, since the epoch; 0: there is none.",
      isListed ? (newestAt ?? 0) / 1000 : null,
    ),
    ...gauge(
      "onair_backup_every_seconds",
      "The time between backups of the schedule; 0: there is none.",
      (everyMs ?? 0) / 1000,
    ),
    counters("onair_backups", "Backups since the start.", "outcome", { done: made, failed }),
  ];
}
