import { StoreError } from "./store.ts";

/** The data that is copied from one store to another, in an order in which rows come after those they refer to. */
export const copiedNouns = [
  "settings",
  "operator_keys",
  "idempotency_keys",
  "users",
  "tags",
  "categories",
  "channels",
  "livestreams",
  "applications",
  "tokens",
  "login_requests",
  "authorization_codes",
  "refresh_tokens",
  "consents",
  "event_types",
  "subscriptions",
  "events",
  "deliveries",
  "removed_deliveries",
  "endpoints",
  "replays",
  "notices",
  "audit",
  "statistics",
  "application_requests",
] as const;

export type CopiedNoun = (typeof copiedNouns)[number];

/** The number of rows of each noun, and of attempts, which are copied as part of their deliveries. */
export type CopyCounts = Readonly<Record<CopiedNoun | "attempts", number>>;

/**
 * A row as JSON: values by column, bytes as `\x` and hexadecimal digits. Events have the columns of SQLite. Deliveries
 * have those of PostgreSQL, which include columns of their event and their attempts.
 */
export type CopiedRow = Readonly<Record<string, unknown>>;

/** The store that is copied. This store is marked as moved, so no server changes it during the copy. */
export interface CopySource {
  counts(): Promise<CopyCounts>;
  /** Ids of events read so far whose bodies are damaged. Their rows have a null body. */
  readonly damagedBodies: readonly string[];
  /** The rows of a noun in batches. A row comes after the rows that it refers to. */
  rows(noun: CopiedNoun): AsyncIterable<readonly CopiedRow[]>;
  /** After this call a failure does not remove the mark, because the target may be complete. */
  keepMark(): void;
}

/** The store that is filled. No server can use this store before the copy is complete. */
export interface CopyTarget {
  counts(): Promise<CopyCounts>;
  add(noun: CopiedNoun, rows: readonly CopiedRow[]): Promise<void>;
  /** Builds indexes, counters and statistics from the rows, when all rows are added. */
  derive(): Promise<void>;
}

/** The setting of a source with the location of the target. */
export const movedSetting = "moved_to";

/** The setting of a database that is being filled. It stays when the copy is killed. */
export const copyingSetting = "copying";

/** The SQL condition on the settings that are copied. The settings of copies are left out. */
export const copiedSettings = `key NOT IN ('${movedSetting}', '${copyingSetting}')`;

/**
 * The error for data that was moved to another location. `place` is the source as it may be shown; `named` is the
 * source as an option of `onair copy`.
 */
export function movedMessage(place: string, named: string, to: string): string {
  return `The data of ${place} was moved to ${to}, or a copy to it was interrupted: serve ${to}, or copy again. If ${to} is not used, undo this: onair copy --reopen --from ${named}`;
}

/** The error for a database that a running or killed copy has begun to fill. */
export const incompleteMessage = (place: string): string =>
  `${place} has no data: a copy to it is running or was interrupted. Begin the same onair copy again, into this empty database or another one.`;

/** The error for a target that has data. */
export const notEmpty = (place: string) =>
  new StoreError(`${place} is not empty: copy into a new directory or a new database.`, true);
