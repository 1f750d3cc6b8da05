import { SQLiteError } from "bun:sqlite";
import { dirname } from "node:path";
import { DrizzleQueryError } from "drizzle-orm";
import { DomainError, messageOf, ownerGone } from "../../../domain/errors.ts";
import { type OnFault, type StorageFault, StoreError } from "../../faults.ts";

/** What a row has cannot be read as it was written: the database is damaged, though SQLite does not see it. */
export class DamagedValue extends StoreError {
  override name = "DamagedValue";
}

/** SQLite's name of what went wrong, like SQLITE_CORRUPT; "" for an error that is not its own. */
export function codeOf(error: unknown): string {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  return cause instanceof SQLiteError ? (cause.code ?? "") : "";
}

/** Whether a statement failed because a value that must be unique is taken. SQLite has undone that statement only. */
export function isUniqueViolation(error: unknown): boolean {
  return /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/.test(codeOf(error));
}

/** Whether a statement failed because it refers to a row that does not exist. */
export function isForeignKeyViolation(error: unknown): boolean {
  return codeOf(error) === "SQLITE_CONSTRAINT_FOREIGNKEY";
}

const passing = /^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM)/;

/**
 * The error for the caller: a full, busy or failing disk is `unavailable`; a row that the new one refers to and that is
 * missing was deleted since the caller looked, unless the verb itself knows better; anything else stays what it is.
 */
export function storeFault(error: unknown): unknown {
  if (isForeignKeyViolation(error)) return Object.assign(ownerGone(), { cause: error });
  if (!passing.test(codeOf(error))) return error;
  const message = "The storage cannot take this now; nothing was changed. Try again in a moment.";
  return Object.assign(new DomainError("unavailable", message, { retryAfterSeconds: 5 }), { cause: error });
}

/** Whether what was read is no database, or a damaged one. */
export function isDamage(error: unknown): boolean {
  return error instanceof DamagedValue || /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));
}

/** The error for operators: which file it is, what was found, and what they can do. */
export function damaged(file: string, finding: string, cause?: unknown): StoreError {
  const message = `${file} is not a database of onair, or is damaged (${finding}). Move it and whatever begins with its name away, then restore a backup: onair restore FILE --data ${dirname(file)}`;
  return Object.assign(new StoreError(message), cause !== undefined && { cause });
}

/** What an error of a read or a write says of the storage; null where it says nothing. */
export function storageFaultOf(error: unknown): StorageFault | null {
  const cause = error instanceof DomainError ? error.cause : error;
  const code = codeOf(cause);
  if (/^SQLITE_FULL/.test(code)) return "full";
  if (/^SQLITE_(IOERR|READONLY)/.test(code)) return "failing";
  return isDamage(cause) ? "damaged" : null;
}

/**
 * The error that the `Store` promises for one of SQLite.
 *
 * @param onFault called where it says that the storage cannot be used
 */
export function explainedFault(error: unknown, file: string, onFault: OnFault): unknown {
  const fault = storageFaultOf(error);
  if (fault !== null) onFault(fault);
  return isDamage(error) ? damaged(file, codeOf(error) || messageOf(error), error) : storeFault(error);
}
