import { day } from "../time.ts";
import type { StatisticRow } from "./statistics.ts";

/** What was free at an earlier time. */
export interface FreeSpace {
  readonly at: number;
  readonly bytes: number;
}

/** What was free in an hour, by the samples of that hour; null without any. */
export function freeSpaceOf(row: Pick<StatisticRow, "at" | "counts"> | undefined): FreeSpace | null {
  const { samples = 0, free_bytes = 0 } = row?.counts ?? {};
  return row && samples > 0 ? { at: row.at, bytes: free_bytes / samples } : null;
}

/** How a disk fills, by what was free earlier. */
interface DiskForecast {
  /** null: less than a day is known. */
  readonly usedPerDay: number | null;
  /** null: it does not fill, or not within ten years. */
  readonly fullAt: number | null;
}

const longest = 10 * 365 * day;

export function diskForecast(before: FreeSpace | null, free: number, now: number): DiskForecast {
  const passed = now - (before?.at ?? now);
  if (before === null || passed < day) return { usedPerDay: null, fullAt: null };
  const usedPerDay = Math.round(((before.bytes - free) / passed) * day);
  const left = usedPerDay > 0 ? (free / usedPerDay) * day : Number.POSITIVE_INFINITY;
  return { usedPerDay, fullAt: left > longest ? null : now + left };
}
