import type { ErrorCode } from "../../domain/errors.ts";
import { statusOf } from "../errors.ts";
import type { Json } from "./components.ts";
import { commonSamples, type ErrorSample, errorResponder, errorSchema } from "./errors.ts";
import { challenge, contentRange, notKept, requestIdHeader, retryAfter } from "./headers.ts";

/** Codes of the errors that routes of the admin listener may have. */
export type AdminErrorCode =
  | Exclude<
      ErrorCode,
      "subscription_failed" | "stream_disabled" | "locked" | "insufficient_scope" | "method_not_allowed"
    >
  | "internal_error";

/** The headers of every answer of the admin listener. */
export const adminHeaders: Json = { "X-Request-Id": requestIdHeader, ...notKept };

/** What each error looks like. */
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
  user_not_found: { message: "There is no user with this id" },
  not_found: { message: "There is no application with this id" },
  conflict: { message: 'username "one" is taken by user 1' },
  body_too_large: { message: "The body must be at most 262144 bytes" },
  range_not_satisfiable: { message: "There are 241754112 bytes" },
};

const statuses: Readonly<Record<number, string>> = {
  400: "Something in the request is wrong. All wrong fields are listed at once.",
  401: "There is no operator key, or it is wrong, revoked or expired.",
  403: "The key has another role than this operation needs.",
  404: "It does not exist.",
  409: "It contradicts what is there; the message names the conflict.",
  413: "The body is too large.",
  415: "The body has another media type.",
  416: "There is no such part.",
  421: "The listener is not known by the name in the `Host` header; `--admin-hosts` adds names.",
  429: "Too many wrong keys came from this address. `Retry-After` says when the next one is looked at; a right key is always let in.",
  500: "Something went wrong on our side; the request id helps to find out what.",
  503: "The server cannot answer just now, for example because it is shutting down or the disk is full.",
};

const headersOf: Partial<Record<AdminErrorCode, Json>> = {
  missing_token: challenge,
  invalid_token: challenge,
  rate_limited: retryAfter,
  unavailable: retryAfter,
  range_not_satisfiable: contentRange,
};

/** The responses of the admin listener for these errors, by status. */
export const adminErrorResponses = errorResponder({
  samples,
  statuses,
  headers: adminHeaders,
  headersOf,
  schema: errorSchema(Object.keys(samples)),
  statusOf: (code) => statusOf[code],
});
