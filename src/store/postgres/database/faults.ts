import { SQL } from "bun";
import { DrizzleQueryError } from "drizzle-orm";
import { DomainError, ownerGone } from "../../../domain/errors.ts";
import type { OnFault, StorageFault } from "../../faults.ts";

/** A statement had no answer in time. */
export class DeadlineError extends Error {
  override name = "DeadlineError";
}

/** None of several hosts is a primary that can be reached. */
export class NoPrimaryError extends Error {
  override name = "NoPrimaryError";
}

/** PostgreSQL's code of what went wrong, like 23505, or the driver's; "" for an error of neither. */
export function codeOf(error: unknown): string {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  if (!(cause instanceof SQL.PostgresError)) return "";
  // A boundary: the driver gives PostgreSQL's code as `errno`.
  const state: unknown = cause.errno;
  return typeof state === "string" ? state : cause.code;
}

/** Whether a value that must be unique is taken. In a transaction nothing more can be done. */
export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === "23505";
}

/** Whether a statement refers to a row that does not exist. In a transaction nothing more can be done. */
export function isForeignKeyViolation(error: unknown): boolean {
  return codeOf(error) === "23503";
}

/** Whether work was undone because of other work at the same time, and can simply be done again. */
export function isConflictOfWork(error: unknown): boolean {
  return /^40(001|P01)$/.test(codeOf(error));
}

/** Whether the server could not be reached, or has ended the connection, or is starting or stopping. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof NoPrimaryError) return true;
  return /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)|08|57P0|53300$)/.test(codeOf(error));
}

/** Whether the server refuses writes: it is a standby, or a primary that has become one. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === "25006";
}

/** What an error says of the storage; null where it says nothing. */
export function storageFaultOf(error: unknown): StorageFault | null {
  const cause = error instanceof DomainError ? error.cause : error;
  const code = codeOf(cause);
  if (isUnreachable(cause) || isReadOnly(cause) || cause instanceof DeadlineError) return "unreachable";
  // It refuses the role, which it has taken before.
  if (/^28/.test(code)) return "unreachable";
  if (code === "53100") return "full";
  if (code === "58030") return "failing";
  return /^XX00[12]$/.test(code) ? "damaged" : null;
}

/**
 * The error for the caller: a database that cannot be reached, is full, or does not answer in time is `unavailable`; a row
 * that the new one refers to and that is missing was deleted since the caller looked, unless the verb itself knows better;
 * anything else stays what it is.
 */
function storeFault(thrown: unknown): unknown {
  // drizzle's own error tells the values of the statement, which may be secret.
  const error = thrown instanceof DrizzleQueryError ? thrown.cause : thrown;
  if (error instanceof DomainError) return error;
  if (isForeignKeyViolation(error)) return Object.assign(ownerGone(), { cause: error });
  // A text with U+0000, which PostgreSQL cannot have, and which nothing is found by.
  if (codeOf(error) === "22021")
    return new DomainError("invalid_parameter", "A text must not contain U+0000");
  // 57014: canceled by a deadline; 55P03: by one of a lock.
  const isPassing = storageFaultOf(error) !== null || isConflictOfWork(error);
  if (!isPassing && !/^(53|57014$|55P03$)/.test(codeOf(error))) return error;
  const message = "The database cannot take this now. Try again in a moment.";
  return Object.assign(new DomainError("unavailable", message, { retryAfterSeconds: 5 }), { cause: error });
}

/**
 * The error that the `Store` promises for one of PostgreSQL.
 *
 * @param onFault called where it says that the storage cannot be used
 */
export function explainedFault(error: unknown, onFault: OnFault): unknown {
  const fault = storageFaultOf(error);
  if (fault !== null) onFault(fault);
  return storeFault(error);
}
