import { SQLiteError } from "bun:sqlite";
import { DrizzleQueryError } from "drizzle-orm";
import { DomainError } from "../../domain/errors.ts";

function codeOf(error: unknown): string {
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

/** The error for the caller: a full, busy or failing disk is `unavailable`, anything else stays what it is. */
export function storeFault(error: unknown): unknown {
  if (!passing.test(codeOf(error))) return error;
  const message = "The storage cannot take this now; nothing was changed. Try again in a moment.";
  return Object.assign(new DomainError("unavailable", message, { retryAfterSeconds: 5 }), { cause: error });
}
