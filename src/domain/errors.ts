/** One wrong field of a request, told to the caller. Never carries the offending value. */
export interface FieldProblem {
  readonly in: "body" | "query" | "path" | "header";
  readonly field: string;
  readonly message: string;
}

export type ErrorCode =
  | "invalid_parameter"
  | "invalid_json"
  | "invalid_cursor"
  | "subscription_failed"
  | "missing_token"
  | "invalid_token"
  | "insufficient_scope"
  | "insufficient_role"
  | "stream_disabled"
  | "user_not_found"
  | "category_not_found"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "body_too_large"
  | "unsupported_media_type"
  | "unknown_host"
  | "range_not_satisfiable"
  | "rate_limited"
  | "unavailable";

/** What an error may carry beyond its message; each adapter renders the parts it understands. */
export interface ErrorDetails {
  readonly errors?: readonly FieldProblem[];
  /** The scope that was missing, with `insufficient_scope`. */
  readonly scope?: string;
  readonly retryAfterSeconds?: number;
  /** The methods a path has, with `method_not_allowed`. */
  readonly allow?: string;
  /** The size of that of which a part was asked for, with `range_not_satisfiable`. */
  readonly wholeBytes?: number;
  /** The application or user for whom something was to be kept was deleted meanwhile. */
  readonly isOwnerGone?: true;
  /** The log has its line already, from where it arose. */
  readonly isLogged?: true;
  /** Results per item, with `subscription_failed`. */
  readonly data?: readonly unknown[];
}

/** A failure whose message is meant for the caller. Anything else that is thrown is an internal error. */
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

/** The error where an application or a user was deleted while something was to be kept for it. */
export function ownerGone(): DomainError {
  const message = "The application or user that this belongs to does not exist any more";
  return new DomainError("not_found", message, { isOwnerGone: true });
}

/** What an error says of all that is wrong, in one line. */
export function inOneLine({ message, details }: DomainError): string {
  const fields = details.errors ?? [];
  return fields.map(({ field, message: wrong }) => `${field} ${wrong}`).join("; ") || message;
}

/** The error for wrong fields: its message is the first field's, so that a person who reads only that is helped. */
export function invalidFields(errors: readonly FieldProblem[]): DomainError {
  const first = errors[0];
  const message = first ? `${first.field} ${first.message}` : "The request is not valid";
  return new DomainError("invalid_parameter", message, { errors });
}
