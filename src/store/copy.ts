import { StoreError } from "../domain/store.ts";

/** The number of rows of each copied table, and of attempts, which are copied as a part of their deliveries. */
export type CopyCounts = Readonly<Record<string, number>>;

/**
 * A row with the values of SQLite: booleans are 0 and 1, JSON is text. The body of an event is text. A delivery has the
 * columns of its event that PostgreSQL's deliveries have, and its attempts as a JSON list in `attempt_log`.
 */
export type CopiedRow = Readonly<Record<string, string | number | Uint8Array | null>>;

/** Rows of one table. */
export interface CopiedRows {
  readonly table: string;
  readonly rows: readonly CopiedRow[];
}

/** A store that no server and no other copy uses until `close`. */
export interface CopySource {
  /** Returns the location in the mark of moved data; null without a mark. */
  mark(): Promise<string | null>;
  /** Sets the mark, or removes it with null. */
  setMark(to: string | null): Promise<void>;
  /** Calls `work` with the data of one moment. Throws a `StoreError` when servers use it. */
  read<T>(work: (data: CopiedData) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** All data of a store. */
export interface CopiedData {
  counts(): Promise<CopyCounts>;
  /** All rows in batches. A row comes after the rows that it refers to. */
  rows(): AsyncIterable<CopiedRows>;
  /** Ids of events read so far whose bodies are damaged. Their rows have a null body. */
  readonly damagedBodies: readonly string[];
}

/** The store that is filled. No server can use this store before the copy is complete. */
export interface CopyTarget {
  counts(): Promise<CopyCounts>;
  add(rows: CopiedRows): Promise<void>;
  /** Builds indexes, counters and statistics from the rows, when all rows are added. */
  derive(): Promise<void>;
}

/** The rows that are read, and passed on, at once. */
export const batchRows = 500;

/** The setting of a source with the location of the target. */
export const movedSetting = "moved_to";

/** The setting of a database that is being filled. It stays when the copy is killed. */
export const copyingSetting = "copying";

/** The settings that are copied, as a table in SQL. The settings of copies are left out. */
export const copiedSettings = `(SELECT * FROM settings WHERE key NOT IN ('${movedSetting}', '${copyingSetting}')) AS settings`;

/**
 * The error for data that was moved to another location. `place` is the source as it may be shown; `named` is the
 * source as an option of `onair copy`.
 */
export const moved = (place: string, named: string, to: string) =>
  new StoreError(
    `The data of ${place} was moved to ${to}, or a copy to it was interrupted: serve ${to}, or copy again. If ${to} is not used, undo this: onair copy --reopen --from ${named}`,
    true,
  );

/** The error for a database that a running or killed copy has begun to fill. */
export const incomplete = (place: string) =>
  new StoreError(
    `${place} has no data: a copy to it is running or was interrupted. Begin the same onair copy again, into this empty database or another one.`,
    true,
  );

/** The error for a target that has data. */
export const notEmpty = (place: string) =>
  new StoreError(`${place} is not empty: copy into a new directory or a new database.`, true);

/** The error for data of an older version. `migrating` is the command that migrates it. */
export const tooOld = (place: string, migrating: string) =>
  new StoreError(`The data of ${place} is of an older version. Migrate it first: ${migrating}`, true);
