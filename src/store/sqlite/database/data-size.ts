import type { Database } from "bun:sqlite";
import { DomainError } from "../../../domain/errors.ts";
import { givesBack } from "./sizes.ts";

/** From nine tenths of the largest size on, old data goes until it is well below. */
const beginsAt = 0.9;
const endsAt = 0.85;

/** So many free pages stay for what comes next, or a sixteenth of all. */
const sparePages = 1_024;

/** Pages that are given back at once, each of which another one may have to be moved for. */
const stepPages = 32;

/** How much the data takes, and how much it may take. */
export interface DataSize {
  /** Sets the largest size in bytes; null: none. */
  limit(maxBytes: number | null): void;
  /** `unavailable` where the data has its largest size, else null. */
  noRoom(): DomainError | null;
  /** Whether old data is to go before its time. */
  isLarge(): boolean;
  /** Whether there are free pages to give back, and the database can do that. */
  hasSpare(): boolean;
  /** Gives some of them back to the disk, within a commit. */
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
    noRoom() {
      if (used() < maxBytes) return null;
      const size = `${Math.round(maxBytes / 1e6)} MB`;
      return new DomainError(
        "unavailable",
        `The data has its largest size (--max-data-size, ${size}), and nothing more of it has ended and can be removed. Set a larger size, or have what is pending delivered or canceled`,
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
