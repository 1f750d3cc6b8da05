import { statfsSync, statSync } from "node:fs";
import type { KindSizes } from "../domain/storage.ts";
import type { Store } from "../domain/store.ts";
import { hour, minute, second } from "../domain/time.ts";
import { inTime } from "../runtime/event-loop.ts";
import { repeating, type Service } from "../runtime/services.ts";
import { databaseIn, logBytes } from "../store/sqlite/directory.ts";

/** The sizes of the disk and of the database on it, in bytes. */
export interface StorageSizes {
  readonly total_bytes: number;
  /** Available to a user without privileges. */
  readonly free_bytes: number;
  readonly database_bytes: number;
}

const sampleEveryMs = 10 * minute;

/** The sizes of a data directory. Throws when it cannot be read. */
export function sizesOf(directory: string): StorageSizes {
  const { bsize, blocks, bavail } = statfsSync(directory);
  const file = databaseIn(directory);
  const database_bytes = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) + logBytes(file);
  return { total_bytes: blocks * bsize, free_bytes: bavail * bsize, database_bytes };
}

/** The size of the write-ahead log of a data directory, in bytes. */
export function logBytesOf(directory: string): number {
  return logBytes(databaseIn(directory));
}

/** The sizes of the kinds of data, and when they were measured, in milliseconds since the epoch. */
export interface MeasuredKinds {
  readonly kinds: KindSizes;
  readonly at: number;
}

const measureEveryMs = hour;
const waitAtMostMs = 2 * second;

/**
 * Returns a function that measures at most once an hour. While a measurement takes longer than two seconds, and when it
 * fails, the function returns the former one; null without any.
 */
export function hourlyKinds(
  measure: () => Promise<KindSizes>,
  now: () => number,
): () => Promise<MeasuredKinds | null> {
  let last: MeasuredKinds | null = null;
  let measuring: Promise<void> | null = null;
  const measureOnce = async (): Promise<void> => {
    try {
      last = { kinds: await measure(), at: now() };
    } catch {
      // The former value stays; `StorageWatch` reports the fault.
    } finally {
      measuring = null;
    }
  };
  return async () => {
    if (last && Math.abs(now() - last.at) < measureEveryMs) return last;
    measuring ??= measureOnce();
    await inTime(measuring, waitAtMostMs);
    return last;
  };
}

/** The service that stores samples of the sizes, from which `diskForecast` estimates when the disk is full. */
export function samplingSizes(
  directory: string,
  store: Pick<Store, "statistics">,
  now: () => number,
): Service {
  return repeating("storage sizes", sampleEveryMs, async () => {
    try {
      const { free_bytes, database_bytes } = sizesOf(directory);
      const at = Math.floor(now() / minute) * minute;
      const counts = { samples: 1, free_bytes, database_bytes };
      await store.statistics.add([{ kind: "storage", subject: "", at, counts, durations: [] }]);
    } catch {
      // One sample is missing; `StorageWatch` reports the fault.
    }
  });
}
