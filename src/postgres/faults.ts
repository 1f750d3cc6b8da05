import { SQL } from "bun";
import { DrizzleQueryError } from "drizzle-orm";
import { DomainError, ownerGone } from "../domain/errors.ts";
import type { OnFault, StorageFault } from "../domain/store.ts";

/** A statement got no response in time. */
export class DeadlineError extends Error {
  override name = "DeadlineError";
}

/** A statement was not sent, because too many wait for a response. */
export class NotSentError extends DeadlineError {}

/** None of the hosts is a reachable primary. */
export class NoPrimaryError extends Error {
  override name = "NoPrimaryError";
}

/** Returns the error of the driver or the pool behind an error of drizzle; any other error unchanged. */
function causeOf(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error;
}

/** Returns PostgreSQL's code of an error, such as 23505, or the driver's code; "" for an error of neither. */
export function codeOf(error: unknown): string {
  const cause = causeOf(error);
  if (!(cause instanceof SQL.PostgresError)) return "";
  // A boundary: the driver has PostgreSQL's code in `errno`.
  const state: unknown = cause.errno;
  return typeof state === "string" ? state : cause.code;
}

/** Whether a statement refers to a row that does not exist. A transaction is then aborted, and must be rolled back. */
export function isForeignKeyViolation(error: unknown): boolean {
  return codeOf(error) === "23503";
}

/**
 * Whether work was rolled back because of a concurrent transaction (serialization failure or deadlock), and can be
 * retried.
 */
export function isConflictOfWork(error: unknown): boolean {
  return /^40(001|P01)$/.test(codeOf(error));
}

/** Whether a statement was canceled because it waited too long for a lock. Its transaction must be rolled back. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

/** Whether a statement was canceled because it took longer than the statement timeout. */
export function isStatementTimeout(error: unknown): boolean {
  return codeOf(error) === "57014";
}

/** Whether the server cannot be reached, has ended the connection, or is starting or stopping. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof NoPrimaryError) return true;
  return /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)|08|57P0|53300$)/.test(codeOf(error));
}

/** Whether the server refuses writes: it is a standby, or a primary that has become one. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === "25006";
}

/** Returns the fault of the storage that an error shows; null for other errors. */
export function storageFaultOf(error: unknown): StorageFault | null {
  const cause = causeOf(error instanceof DomainError ? error.cause : error);
  const code = codeOf(cause);
  if (isUnreachable(cause) || isReadOnly(cause) || cause instanceof DeadlineError) return "unreachable";
  // The server refuses the role, which it has accepted before.
  if (/^28/.test(code)) return "unreachable";
  if (code === "53100") return "full";
  if (code === "58030") return "failing";
  return /^XX00[12]$/.test(code) ? "damaged" : null;
}

/**
 * Returns the error for the caller. A database that is unreachable, full or too slow becomes `unavailable`. A violated
 * foreign key becomes `ownerGone`: the referenced row was removed after the caller read it, unless the store method
 * handles this itself. Any other error is returned unchanged.
 */
function storeFault(thrown: unknown): unknown {
  // drizzle's own error contains the values of the statement, which may be secret.
  const error = causeOf(thrown);
  if (error instanceof DomainError) return error;
  if (isForeignKeyViolation(error)) return Object.assign(ownerGone(), { cause: error });
  // A text with U+0000, which PostgreSQL cannot store.
  if (codeOf(error) === "22021")
    return new DomainError("invalid_parameter", "A text must not contain U+0000");
  // 57014: canceled by the statement timeout. 55P03: canceled by the lock timeout. 25P03, 25P04: the connection was
  // closed, because its transaction was idle or took too long.
  const isPassing = storageFaultOf(error) !== null || isConflictOfWork(error);
  if (!isPassing && !/^(53|57014$|55P03$|25P0[34]$)/.test(codeOf(error))) return error;
  const message = "The database is not available now. Try again in a moment.";
  return Object.assign(new DomainError("unavailable", message, { retryAfterSeconds: 5 }), { cause: error });
}

/**
 * Converts an error of PostgreSQL to the one that the `Store` promises.
 *
 * @param onFault called when the error shows a fault of the storage
 */
export function explainedFault(error: unknown, onFault: OnFault): unknown {
  const fault = storageFaultOf(error);
  if (fault !== null) onFault(fault);
  return storeFault(error);
}
