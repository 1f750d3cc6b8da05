import type { Database } from "bun:sqlite";
import { DomainError } from "../../../domain/errors.ts";
import { givesBack } from "./sizes.ts";

/** Parts of the largest size at which trimming begins and ends. */
const beginsAt = 0.9;
const endsAt = 0.85;

/** This many free pages, or a sixteenth of all pages, stay in the file for new data. */
const sparePages = 1_024;

/** Pages returned in one step. Each may require moving another page. */
const stepPages = 32;

/** The size of the data, and its limit. */
export interface DataSize {
  /** Sets the largest size in bytes; null for no limit. */
  limit(maxBytes: number | null): void;
  /** The error `unavailable` when the data has its largest size, else null. */
  fullError(): DomainError | null;
  /** Whether old data must be removed before its retention ends. */
  isLarge(): boolean;
  /** Whether the database has free pages to return to the file system, and can do so. */
  hasSpare(): boolean;
  /** Returns some free pages to the file system, within a commit. */
  giveBack(): void;
}

export function dataSize(db: Database): DataSize {
  const pages = db.prepare<{ bytes: number; free: number; count: number }, []>(
    `SELECT (page_count - freelist_count) * page_size AS bytes, freelist_count AS free, page_count AS count
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  );
  const canGiveBack = givesBack(db);
  const vacuum = db.prepare(`PRAGMA incremental_vacuum(${stepPages})`);
  let maxBytes = Number.POSITIVE_INFINITY;
  let isTrimming = false;
  const used = () => (maxBytes === Number.POSITIVE_INFINITY ? 0 : (pages.get()?.bytes ?? 0));
  return {
    limit(most) {
      maxBytes = most ?? Number.POSITIVE_INFINITY;
    },
    fullError() {
      if (used() < maxBytes) return null;
      const size = `${Math.round(maxBytes / 1e6)} MB`;
      return new DomainError(
        "unavailable",
        `The data has its largest size (--max-data-size, ${size}), and no finished deliveries are left to remove. Set a larger size, or have pending deliveries delivered or canceled`,
        { isNothingKept: true },
      );
    },
    isLarge() {
      isTrimming = used() >= maxBytes * (isTrimming ? endsAt : beginsAt);
      return isTrimming;
    },
    hasSpare() {
      if (!canGiveBack) return false;
      const { free, count } = pages.get() ?? { free: 0, count: 0 };
      return free > Math.max(sparePages, count / 16);
    },
    giveBack: () => void vacuum.all(),
  };
}
