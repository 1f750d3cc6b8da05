import type { ErrorCode } from "../../domain/errors.ts";
import { statusOf } from "../errors.ts";
import type { Json } from "./components.ts";
import { commonSamples, type ErrorSample, errorResponder, errorSchema } from "./errors.ts";
import { challenge, contentRange, notKept, requestIdHeader, retryAfter } from "./headers.ts";

/** The error codes of the admin listener. */
export type AdminErrorCode =
  | Exclude<
      ErrorCode,
      "subscription_failed" | "stream_disabled" | "locked" | "insufficient_scope" | "method_not_allowed"
    >
  | "internal_error";

/** The headers of every response of the admin listener. */
export const adminHeaders: Json = { "X-Request-Id": requestIdHeader, ...notKept };

/** An example of each error. */
const samples: Readonly<Record<AdminErrorCode, ErrorSample>> = {
  ...commonSamples,
  invalid_parameter: {
    message: "name must be at least 1 character",
    errors: [{ in: "body", field: "name", message: "must be at least 1 character" }],
  },
  missing_token: { message: "This needs the operator key: Authorization: Bearer <key>" },
  invalid_token: { message: "The operator key is wrong, revoked or expired" },
  insufficient_role: { message: "This needs a key with the role operator; this one is a reader" },
  unknown_host: {
    message:
      "This listener is not known by the name in the Host header. Add that name to --admin-hosts (ONAIR_ADMIN_HOSTS), or use an address",
  },
  rate_limited: {
    message: "Too many wrong operator keys from this address (at most 20 a minute); try again in 3 seconds",
  },
  empty_snapshot: { message: "The snapshot has no line; nothing was changed" },
  confirmation_required: {
    message:
      "The snapshot would end 3,990 of 4,000 livestreams, more than 50 %, so it has ended none. If it is complete, send it again with confirm=true. Its valid lines (10) are stored.",
    errors: [{ in: "body", field: "line 11", message: "The line is not valid JSON" }],
  },
  user_not_found: { message: "There is no user with this id" },
  not_found: { message: "There is no application with this id" },
  conflict: { message: 'username "one" is taken by user 1' },
  body_too_large: { message: "The body must be at most 262144 bytes" },
  range_not_satisfiable: { message: "The file has 241754112 bytes" },
};

const statuses: Readonly<Record<number, string>> = {
  400: "The request is invalid. `errors` lists all invalid fields.",
  401: "The operator key is missing, wrong, revoked or expired.",
  403: "The role of the key does not permit this operation.",
  404: "The object does not exist.",
  409: "The request conflicts with the current state. `message` has the reason.",
  413: "The body is too large.",
  415: "The media type or content encoding of the body is not supported.",
  416: "The requested range does not exist.",
  421: "The host name in the `Host` header is not accepted; `--admin-hosts` adds names.",
  429: "This address has sent too many wrong keys. `Retry-After` has the seconds until the next one is checked. Valid keys are always accepted.",
  500: "An internal error occurred. The server's log has its cause, under the request id.",
  503: "The server is temporarily unavailable, for example because it is shutting down or the disk is full.",
};

const headersOf: Partial<Record<AdminErrorCode, Json>> = {
  missing_token: challenge,
  invalid_token: challenge,
  rate_limited: retryAfter,
  unavailable: retryAfter,
  range_not_satisfiable: contentRange,
};

/** Returns the responses of the admin listener for error codes, by status. */
export const adminErrorResponses = errorResponder({
  samples,
  statuses,
  headers: adminHeaders,
  headersOf,
  schema: errorSchema(Object.keys(samples)),
  statusOf: (code) => statusOf[code],
});
