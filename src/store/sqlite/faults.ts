import { SQLiteError } from "bun:sqlite";
import { dirname } from "node:path";
import { DrizzleQueryError } from "drizzle-orm";
import { DomainError, messageOf, ownerGone } from "../../domain/errors.ts";
import { type OnFault, type StorageFault, StoreError } from "../../domain/store.ts";

/** A stored value cannot be decoded: the database is damaged in a way that SQLite does not detect. */
export class DamagedValue extends StoreError {
  override name = "DamagedValue";
}

/** The files of the open database are no longer those in its directory. */
export class ReplacedDatabase extends Error {
  override name = "ReplacedDatabase";
}

/** Another process has locked the data directory, or has become the writer of its database. */
export class TakenDirectory extends Error {
  override name = "TakenDirectory";
}

/** Returns SQLite's code of an error, such as SQLITE_CORRUPT; "" for an error of something else. */
export function codeOf(error: unknown): string {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  return cause instanceof SQLiteError ? (cause.code ?? "") : "";
}

/** Whether a statement failed because a unique value is taken. SQLite has rolled back that statement only. */
export function isUniqueViolation(error: unknown): boolean {
  return /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/.test(codeOf(error));
}

/** Whether a statement failed because it refers to a row that does not exist. */
export function isForeignKeyViolation(error: unknown): boolean {
  return codeOf(error) === "SQLITE_CONSTRAINT_FOREIGNKEY";
}

const passing = /^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM)/;

/**
 * Returns the error for the caller. A full, busy or failing disk, or a replaced or taken file, becomes `unavailable`. A
 * violated foreign key becomes `ownerGone`: the referenced row was removed after the caller read it, unless the store
 * method handles this itself. Any other error is returned unchanged.
 */
export function storeFault(error: unknown): unknown {
  if (isForeignKeyViolation(error)) return Object.assign(ownerGone(), { cause: error });
  const isLost = error instanceof ReplacedDatabase || error instanceof TakenDirectory;
  if (!passing.test(codeOf(error)) && !isLost) return error;
  const message = unavailableBecause(error);
  return Object.assign(new DomainError("unavailable", message, { retryAfterSeconds: 5 }), { cause: error });
}

function unavailableBecause(error: unknown): string {
  if (error instanceof ReplacedDatabase)
    return "The storage is not available until the operator has acted: the log of the server and its readiness say what to do. Nothing was changed. Try again after that.";
  return /^SQLITE_FULL/.test(codeOf(error))
    ? "The disk of the storage is full. Nothing was changed. Try again when there is space."
    : "The storage is not available now. Nothing was changed. Try again in a moment.";
}

/** Whether an error says that the file is damaged or is not a database. */
export function isDamage(error: unknown): boolean {
  return error instanceof DamagedValue || /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));
}

/** Returns the error for operators: the file, the finding, and what to do. */
export function damaged(file: string, finding: string, cause?: unknown): StoreError {
  const message = `${file} is not a database of onair, or is damaged (${finding}). Move it and all files that begin with its name away, then restore a backup: onair restore FILE --data ${dirname(file)}`;
  return Object.assign(new StoreError(message), cause !== undefined && { cause });
}

/** Returns the fault of the storage that an error of a read or write shows; null for other errors. */
export function storageFaultOf(error: unknown): StorageFault | null {
  const cause = error instanceof DomainError ? error.cause : error;
  if (cause instanceof ReplacedDatabase) return "replaced";
  if (cause instanceof TakenDirectory) return "taken";
  const code = codeOf(cause);
  if (/^SQLITE_FULL/.test(code)) return "full";
  if (/^SQLITE_(IOERR|READONLY)/.test(code)) return "failing";
  return isDamage(cause) ? "damaged" : null;
}

/**
 * Converts an error of SQLite to the error that the `Store` promises.
 *
 * @param onFault called when the error shows a fault of the storage
 */
export function explainedFault(error: unknown, file: string, onFault: OnFault): unknown {
  const fault = storageFaultOf(error);
  if (fault !== null) onFault(fault);
  return isDamage(error) ? damaged(file, codeOf(error) || messageOf(error), error) : storeFault(error);
}
