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

/** A store that is copied, at one moment. */
export interface CopySource {
  counts(): Promise<CopyCounts>;
  /** All rows of a noun, some at a time, in the order in which they were made. */
  rows(noun: CopiedNoun): AsyncIterable<readonly CopiedRow[]>;
  /** From here on the source stays marked whatever happens, because the target may be complete. */
  keepMark(): void;
}

/** An empty store that is filled; nobody can use it before it is complete. */
export interface CopyTarget {
  add(noun: CopiedNoun, rows: readonly CopiedRow[]): Promise<void>;
  counts(): Promise<CopyCounts>;
}

/** The setting of a source that tells where its data was copied to. It is not copied itself. */
export const movedSetting = "moved_to";

/** Why data that was copied elsewhere is not used any more. `place`: as it is shown; `named`: as `onair copy` takes it. */
export function movedMessage(place: string, named: string, to: string): string {
  return `The data of ${place} was moved to ${to}, or that was cut off: serve ${to}, or copy again. Only where ${to} is not used, undo it: onair copy --reopen --from ${named}`;
}

/** Why a store cannot be a target. */
export function notEmptyMessage(place: string): string {
  return `${place} is not empty: copy into a new directory or a new database.`;
}
