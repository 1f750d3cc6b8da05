import type { StatisticRow } from "./statistics.ts";
import { day } from "./time.ts";

/** With less free space than this, a disk counts as nearly full. */
export const leastFreeBytes = 256 * 1024 * 1024;

/** Free space at an earlier time. */
export interface FreeSpace {
  readonly at: number;
  readonly bytes: number;
}

/** The average free space of an hour's samples; null without samples. */
export function freeSpaceOf(row: Pick<StatisticRow, "at" | "counts"> | undefined): FreeSpace | null {
  const { samples = 0, free_bytes = 0 } = row?.counts ?? {};
  return row && samples > 0 ? { at: row.at, bytes: free_bytes / samples } : null;
}

/** How fast a disk fills, estimated from the free space earlier. */
interface DiskForecast {
  /** Bytes; null when less than a day is known. */
  readonly usedPerDay: number | null;
  /** null when the disk does not fill up within ten years. */
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
