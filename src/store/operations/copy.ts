import { StoreError } from "../faults.ts";

/** What is copied from one store to another, in this order: what refers to a row comes behind it. */
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

/** How many there are of each noun, and of the attempts, which are part of their deliveries. */
export type CopyCounts = Readonly<Record<CopiedNoun | "attempts", number>>;

/**
 * A row by its columns, as JSON has it: bytes are `\x` and hexadecimal digits. Events are as in SQLite; deliveries as in
 * PostgreSQL, with what is shown of their event, and with their attempts.
 */
export type CopiedRow = Readonly<Record<string, unknown>>;

/** A store that is copied. It cannot change between the beginning of a copy and its end, because it is marked. */
export interface CopySource {
  /** Names the copy: the same one after it was cut off, another one after the source was reopened. */
  readonly copyId: string;
  counts(): Promise<CopyCounts>;
  /** The ids of the events, of those read so far, whose bodies cannot be read: `rows` has them without. */
  readonly damagedBodies: readonly string[];
  /** The rows of a noun behind the first `skipped`, some at a time, always in the same order. */
  rows(noun: CopiedNoun, skipped: number): AsyncIterable<readonly CopiedRow[]>;
  /** From here on the source stays marked whatever happens, because the target has a part of it. */
  keepMark(): void;
}

/** A store that is filled; it cannot be used before it is complete. */
export interface CopyTarget {
  /** What it has: before the first rows, what came over before the copy was cut off. */
  counts(): Promise<CopyCounts>;
  /** Adds rows, all or none. */
  add(noun: CopiedNoun, rows: readonly CopiedRow[]): Promise<void>;
  /** Makes what follows from the rows, when it has all of them. */
  derive(): Promise<void>;
}

/** The setting of a source that tells where its data was copied to. */
export const movedSetting = "moved_to";

/** The setting of a source with the id of the copy. */
export const copyIdSetting = "copy_id";

/** The setting of a database that is being filled, with the id of the copy. */
export const copyingSetting = "copying";

/** The setting of a database that was filled, with the id of the copy and when it was complete. */
export const copiedSetting = "copied";

/** The value of that setting. */
export const completedNow = (copyId: string) => `${copyId} ${new Date().toISOString()}`;

/** The condition on the settings that are copied: those that are not are of the copy itself. */
export const copiedSettings = `key NOT IN ('${movedSetting}', '${copyIdSetting}', '${copyingSetting}', '${copiedSetting}')`;

/** This copy was complete before. */
export class AlreadyCopied extends Error {
  override name = "AlreadyCopied";
  /** @param at when, in ISO 8601 */
  constructor(readonly at: string) {
    super(`The copy is complete since ${at}`);
  }
}

/** Why data that was copied elsewhere is not used any more. `place`: as it is shown; `named`: as `onair copy` takes it. */
export function movedMessage(place: string, named: string, to: string): string {
  return `The data of ${place} was moved to ${to}, or that was cut off: serve ${to}, or copy again. Only where ${to} is not used, undo it: onair copy --reopen --from ${named}`;
}

/** Why a database cannot be used that has a part of a copy. */
export function incompleteMessage(place: string): string {
  return `${place} has a part of a copy that was cut off: go on with the same onair copy, or make the database anew.`;
}

/**
 * Throws `AlreadyCopied` for a target that this copy has filled, else a `StoreError`.
 * @param completed the setting `copied` of the target
 */
export function refuseFull(place: string, copyId: string, completed: string | undefined): never {
  const [id, at = ""] = completed?.split(" ") ?? [];
  if (id === copyId) throw new AlreadyCopied(at);
  throw new StoreError(`${place} is not empty: copy into a new directory or a new database.`, true);
}
