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
] as const;

export type CopiedNoun = (typeof copiedNouns)[number];

/** The number of rows of each noun, and of attempts, which are copied as part of their deliveries. */
export type CopyCounts = Readonly<Record<CopiedNoun | "attempts", number>>;

/**
 * A row as JSON: values by column, bytes as `\x` and hexadecimal digits. Events have the columns of SQLite. Deliveries
 * have those of PostgreSQL, which include columns of their event and their attempts.
 */
export type CopiedRow = Readonly<Record<string, unknown>>;

/** The store that is copied. It is marked as moved, so no server changes it during the copy. */
export interface CopySource {
  /** The id of the copy. An interrupted copy continues with the same id; a reopened source gets another one. */
  readonly copyId: string;
  counts(): Promise<CopyCounts>;
  /** Ids of events read so far whose bodies are damaged. Their rows have a null body. */
  readonly damagedBodies: readonly string[];
  /** The rows of a noun without the first `skipped`, in batches, always in the same order. */
  rows(noun: CopiedNoun, skipped: number): AsyncIterable<readonly CopiedRow[]>;
  /** From now on a failure no longer removes the mark, because the target has a part of the data. */
  keepMark(): void;
}

/** The store that is filled. No server can use it before it is complete. */
export interface CopyTarget {
  /** The rows that it has. Before the first `add`, those of an interrupted copy. */
  counts(): Promise<CopyCounts>;
  /** Adds rows, all or none. */
  add(noun: CopiedNoun, rows: readonly CopiedRow[]): Promise<void>;
  /** Builds indexes, counters and statistics from the rows, once all are there. */
  derive(): Promise<void>;
}

/** The setting of a source with the place its data was copied to. */
export const movedSetting = "moved_to";

/** The setting of a source with the id of the copy. */
export const copyIdSetting = "copy_id";

/** The setting of a database that is being filled, with the id of the copy. */
export const copyingSetting = "copying";

/** The setting of a database that was filled, with the id of the copy and the time of its completion. */
export const copiedSetting = "copied";

/** The value of `copiedSetting`. */
export const completedNow = (copyId: string) => `${copyId} ${new Date().toISOString()}`;

/** SQL condition on the settings that are copied: all but those of the copy itself. */
export const copiedSettings = `key NOT IN ('${movedSetting}', '${copyIdSetting}', '${copyingSetting}', '${copiedSetting}')`;

/** The same copy was completed before. */
export class AlreadyCopied extends Error {
  override name = "AlreadyCopied";
  /** @param at the time of its completion, in ISO 8601 */
  constructor(readonly at: string) {
    super(`The copy was completed at ${at}`);
  }
}

/**
 * The error for data that was copied elsewhere. `place` is the source as it may be shown, `named` as `onair copy` takes
 * it.
 */
export function movedMessage(place: string, named: string, to: string): string {
  return `The data of ${place} was moved to ${to}, or a copy to it was interrupted: serve ${to}, or copy again. If ${to} is not used, undo this: onair copy --reopen --from ${named}`;
}

/** The error for a database with a part of an interrupted copy. */
export function incompleteMessage(place: string): string {
  return `${place} has a part of an interrupted copy: continue it with the same onair copy, or create the database again.`;
}

/**
 * Throws `AlreadyCopied` when this copy has filled the target, else a `StoreError`. `completed` is the `copiedSetting`
 * of the target.
 */
export function refuseFull(place: string, copyId: string, completed: string | undefined): never {
  const [id, at = ""] = completed?.split(" ") ?? [];
  if (id === copyId) throw new AlreadyCopied(at);
  throw new StoreError(`${place} is not empty: copy into a new directory or a new database.`, true);
}
