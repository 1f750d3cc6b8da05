/** A problem with one field of a request. Never contains the value. */
export interface FieldProblem {
  readonly in: "body" | "query" | "path" | "header";
  readonly field: string;
  readonly message: string;
}

const longestName = 64;

/** Returns a name chosen by the caller, shortened, as a part of `field`. */
export function nameInField(name: string): string {
  if (name === "") return '""';
  if (name.length <= longestName) return name.toWellFormed();
  return `${name.slice(0, longestName).toWellFormed()}…`;
}

export type ErrorCode =
  | "invalid_parameter"
  | "invalid_json"
  | "invalid_cursor"
  | "subscription_failed"
  | "empty_snapshot"
  | "missing_token"
  | "invalid_token"
  | "insufficient_scope"
  | "insufficient_role"
  | "stream_disabled"
  | "locked"
  | "user_not_found"
  | "category_not_found"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "confirmation_required"
  | "body_too_large"
  | "unsupported_media_type"
  | "unknown_host"
  | "range_not_satisfiable"
  | "rate_limited"
  | "unavailable";

/** Further parts of an error; each adapter renders the parts that it knows. */
export interface ErrorDetails {
  readonly errors?: readonly FieldProblem[];
  /** The missing scope, with `insufficient_scope`. */
  readonly scope?: string;
  readonly retryAfterSeconds?: number;
  /** The methods of the path, with `method_not_allowed`. */
  readonly allow?: string;
  /** The size of the whole content, with `range_not_satisfiable`. */
  readonly wholeBytes?: number;
  /** Whether the application or user was deleted during the request. */
  readonly isOwnerGone?: true;
  /** Whether it is certain that nothing was stored, which `unavailable` leaves open. */
  readonly isNothingKept?: true;
  /** Whether the error was already logged. */
  readonly isLogged?: true;
  /** Results per item, with `subscription_failed`. */
  readonly data?: readonly unknown[];
}

/** An error whose message is meant for the caller. Anything else that is thrown is an internal error. */
export class DomainError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: ErrorDetails = {},
  ) {
    super(message);
    this.name = "DomainError";
  }
}

/** The error when an application or user was deleted during a write for it. */
export function ownerGone(): DomainError {
  const message = "The application or user that this belongs to no longer exists";
  return new DomainError("not_found", message, { isOwnerGone: true });
}

/** Formats the message and all problems of an error, whose body is a line of a batch, as one line. */
export function inOneLine({ message, details }: DomainError): string {
  const fields = details.errors ?? [];
  return (
    fields
      .map(({ field, message: wrong }) => withField(field === "body" ? "The line" : field, wrong))
      .join("; ") || message
  );
}

/** Puts the field's name before its problem; a problem that is a full sentence follows a colon. */
export function withField(field: string, problem: string): string {
  return `${field}${/^[A-Z]/.test(problem) ? ":" : ""} ${problem}`;
}

/** The error for invalid fields: its message is the first problem. */
export function invalidFields(errors: readonly FieldProblem[]): DomainError {
  const first = errors[0];
  const message = first ? withField(first.field, first.message) : "The request is not valid";
  return new DomainError("invalid_parameter", message, { errors });
}

/** The error for one invalid field. */
export function invalidField(place: FieldProblem["in"], field: string, message: string): DomainError {
  return invalidFields([{ in: place, field, message }]);
}

/** The message of an error, or any other thrown value as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For each item of a batch, in order: null when it was stored, else the reason why it was refused. */
export type BatchResult = readonly (string | null)[];

export interface BatchMode {
  /** All or nothing: one refused item undoes the whole batch, and the promise rejects with `BatchRefused`. */
  readonly atomic?: boolean;
}

/** An atomic batch was undone. In its results, null marks the items that were valid. */
export class BatchRefused extends Error {
  override name = "BatchRefused";
  constructor(readonly results: BatchResult) {
    super("Nothing of the batch was stored");
  }
}

/** The error for an event of a broadcaster who does not exist. */
export const unknownBroadcaster = (): DomainError =>
  invalidField("body", "broadcaster_user_id", "is not a known user");
