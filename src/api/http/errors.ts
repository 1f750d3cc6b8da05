import { DomainError, type ErrorCode, type ErrorDetails } from "../../domain/errors.ts";
import { mistakenSecret } from "../../domain/tokens.ts";
import { errorFields } from "../../runtime/log.ts";
import { type ExtraHeaders, type RequestContext, reply, replyJson } from "./context.ts";
import { ClientClosedRequest } from "./input.ts";

/** The status of each error code. */
export const statusOf: Readonly<Record<ErrorCode | "internal_error", number>> = {
  invalid_parameter: 400,
  invalid_json: 400,
  invalid_cursor: 400,
  subscription_failed: 400,
  empty_snapshot: 400,
  missing_token: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  insufficient_role: 403,
  stream_disabled: 403,
  locked: 403,
  user_not_found: 404,
  category_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  confirmation_required: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  unknown_host: 421,
  rate_limited: 429,
  unavailable: 503,
  internal_error: 500,
};

/** The error codes of the admin listener. */
export type AdminErrorCode =
  | Exclude<
      ErrorCode,
      "subscription_failed" | "stream_disabled" | "locked" | "insufficient_scope" | "method_not_allowed"
    >
  | "internal_error";

/** The error codes of the public listener. */
export type PublicErrorCode =
  | Exclude<
      ErrorCode,
      | "range_not_satisfiable"
      | "insufficient_role"
      | "unknown_host"
      | "empty_snapshot"
      | "confirmation_required"
    >
  | "internal_error";

/** The default of `Retry-After` for `unavailable`. */
const tryAgainSeconds = 5;

/** The status in log and metrics if the client closed the connection, as in nginx. No response is sent. */
const clientClosedRequest = 499;

/**
 * Returns an error response in the API's format. Unexpected errors are logged, and their message is not sent.
 * @param set headers that the handler had set before it threw the error
 */
export function replyError(
  requestContext: RequestContext,
  thrown: unknown,
  set: ExtraHeaders = {},
): Response {
  if (thrown instanceof ClientClosedRequest) return reply(requestContext, clientClosedRequest, null);
  const { listener, path, requestId: request_id } = requestContext;
  const error = withOwnerGone(requestContext, thrown);
  if (error instanceof OAuthError) {
    const { status, code, message, headers } = error;
    // Browsers show a dialog for a Basic challenge before the page that sent the request gets the response.
    const bearer = status === 401 && !speaksOAuth(path) && { "www-authenticate": `Bearer realm="onair"` };
    return replyProblem(requestContext, { status, code, message, headers: { ...headers, ...bearer } });
  }
  if (!(error instanceof DomainError)) {
    listener.log.failure("internal_error", error, { request_id });
    const code = "internal_error";
    return replyProblem(requestContext, { status: statusOf[code], code, message: internalError });
  }
  const { code, message, details } = error;
  if (code === "unavailable" && !details.isLogged)
    listener.log.repeated("error", "unavailable", message, { request_id, ...errorFields(error) });
  return replyProblem(requestContext, {
    status: statusOf[code],
    // RFC 6749 has a code of its own for invalid parameters.
    code: code === "invalid_parameter" && speaksOAuth(path) ? "invalid_request" : code,
    message,
    details,
    headers: { ...set, ...errorHeaders(error) },
  });
}

/** Returns the error of an unknown id. */
export const notFound = (noun: string) => new DomainError("not_found", `There is no ${noun} with this id`);

/** Returns `found`. Throws `not_found` for null. */
export function existing<T>(found: T | null, noun = "application"): T {
  if (found === null) throw notFound(noun);
  return found;
}

/** The message for an unexpected error, which reveals nothing about it. */
export const internalError = "Something went wrong on our side. The request id helps to find out what.";

interface Problem {
  readonly status: number;
  readonly code: ErrorCode | OAuthErrorCode | "internal_error";
  readonly message: string;
  readonly details?: ErrorDetails;
  readonly headers?: ExtraHeaders;
}

/** Returns an error response. All of them are made here. */
export function replyProblem(requestContext: RequestContext, problem: Problem): Response {
  const { status, code, message, details, headers } = problem;
  const body = {
    ...(speaksOAuth(requestContext.path) && oauthFields(code, message)),
    ...(details?.data && { data: details.data }),
    message,
    code,
    errors: details?.errors ?? [],
    request_id: requestContext.requestId,
  };
  return replyJson(requestContext, status, body, headers, code);
}

/**
 * Replaces the error of a request whose application or user was deleted during the request: the token or OAuth client
 * is now invalid.
 */
function withOwnerGone({ path, caller }: RequestContext, thrown: unknown): unknown {
  if (!(thrown instanceof DomainError && thrown.details.isOwnerGone)) return thrown;
  if (caller !== null) {
    return new DomainError("invalid_token", "The access token is unknown, revoked or expired");
  }
  return speaksOAuth(path) ? wrongClient() : thrown;
}

function errorHeaders({ code, message, details }: DomainError): Record<string, string> {
  const headers: Record<string, string> = {};
  // RFC 6750, section 3: no error code if the request has no token.
  if (code === "missing_token") headers["www-authenticate"] = `Bearer realm="onair"`;
  if (code === "invalid_token" || code === "insufficient_scope") {
    const scope = details.scope ? `, scope="${details.scope}"` : "";
    headers["www-authenticate"] =
      `Bearer realm="onair", error="${code}", error_description="${message}"${scope}`;
  }
  if (details.allow) headers["allow"] = details.allow;
  if (details.wholeBytes !== undefined) headers["content-range"] = `bytes */${details.wholeBytes}`;
  const retryAfter = details.retryAfterSeconds ?? (code === "unavailable" ? tryAgainSeconds : null);
  if (retryAfter !== null) headers["retry-after"] = String(retryAfter);
  return headers;
}

/*
 * Errors of the OAuth endpoints.
 */

/** The error codes of RFC 6749, sections 4.1.2.1 and 5.2, for requests that are refused. */
const oauthErrorCodes = [
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "unsupported_response_type",
  "server_error",
] as const;
export type OAuthErrorCode = (typeof oauthErrorCodes)[number];

/** Whether a code is one of RFC 6749. */
export function isOAuthErrorCode(code: string): code is OAuthErrorCode {
  return oauthErrorCodes.some((known) => known === code);
}

/** An error of an OAuth endpoint. Its code is sent as `error` and as `code`. */
export class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    message: string,
  ) {
    super(message);
  }

  get status(): 400 | 401 {
    return this.code === "invalid_client" ? 401 : 400;
  }

  get headers(): Record<string, string> {
    return this.status === 401 ? { ...uncached, "www-authenticate": `Basic realm="onair"` } : uncached;
  }
}

/** Prevents caching by HTTP/1.0 as well (RFC 6749, section 5.1). */
export const uncached = { pragma: "no-cache" };

export const oauthPaths = {
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  revoke: "/oauth/revoke",
  introspect: "/oauth/introspect",
} as const;

const paths: ReadonlySet<string> = new Set(Object.values(oauthPaths));

/** Whether errors of a path have the fields of RFC 6749 beside the usual fields. */
export function speaksOAuth(path: string): boolean {
  return paths.has(path);
}

/** The `error` of OAuth endpoints for error codes of the API; `invalid_request` for all others. */
const otherCodes: Partial<Record<string, string>> = {
  rate_limited: "temporarily_unavailable",
  unavailable: "temporarily_unavailable",
  internal_error: "server_error",
};

/** Returns the fields that errors of OAuth endpoints have beside the usual fields (RFC 6749, section 5.2). */
export function oauthFields(code: string, message: string) {
  const error = isOAuthErrorCode(code) ? code : (otherCodes[code] ?? "invalid_request");
  return { error, error_description: message.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'") };
}

/**
 * Returns the error of an OAuth client that is unknown, has a wrong secret, or was deleted during the request.
 * @param secret the wrong secret, if the request had a secret
 */
export function wrongClient(secret = ""): OAuthError {
  const needed = "this needs the client secret, which begins with onair_cs_";
  const mistaken = mistakenSecret(secret, "onair_cs_", needed);
  return new OAuthError("invalid_client", mistaken ?? "The client_id or client_secret is wrong");
}
