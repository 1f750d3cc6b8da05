import { Type } from "@sinclair/typebox";
import type { ErrorCode } from "../../domain/errors.ts";
import { statusOf } from "../errors.ts";
import { header, type Json } from "./components.ts";
import { commonSamples, type ErrorSample, errorResponder, errorSchema } from "./errors.ts";
import { challenge, notKept, requestIdHeader, retryAfter, subscriptionBudget } from "./headers.ts";

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

const missingBroadcaster = "Event channel.followed belongs to a channel: broadcaster_user_id is required";

/** An example of each error. */
export const publicSamples: Readonly<Record<PublicErrorCode, ErrorSample>> = {
  ...commonSamples,
  invalid_parameter: {
    message: "limit must be an integer from 1 to 100",
    errors: [{ in: "query", field: "limit", message: "must be an integer from 1 to 100" }],
  },
  subscription_failed: {
    message: missingBroadcaster,
    errors: [{ in: "body", field: "events[0]", message: missingBroadcaster }],
    data: [{ name: "channel.followed", version: 1, error: missingBroadcaster }],
  },
  missing_token: { message: "This needs an access token: Authorization: Bearer <token>" },
  invalid_token: { message: "The access token is unknown, revoked or expired" },
  insufficient_scope: { message: "This needs a token with the scope users:read" },
  stream_disabled: {
    message: "This application receives events only by webhook; set its delivery to stream or both",
  },
  locked: {
    message: "webhook_url is locked: only the platform can change it",
    errors: [{ in: "body", field: "webhook_url", message: "is locked: only the platform can change it" }],
  },
  user_not_found: { message: "There is no user with this username" },
  not_found: { message: "There is nothing at this path" },
  method_not_allowed: { message: "This path supports GET, HEAD, OPTIONS" },
  conflict: { message: "The body of its event is no longer kept, so it cannot be sent again" },
  body_too_large: { message: "The body must be at most 65536 bytes" },
  rate_limited: { message: "Too many requests; try again in 3 seconds" },
};

export const publicStatuses: Readonly<Record<number, string>> = {
  400: "The request is invalid. `errors` lists all invalid fields.",
  401: "The access token is missing, unknown, revoked or expired.",
  403: "The token lacks the required scope, the operation does not accept user tokens, or the application may not use it.",
  404: "The object does not exist.",
  409: "The request conflicts with the current state. `message` has the reason.",
  413: "The body is larger than 64 KiB.",
  415: "The media type or content encoding of the body is not supported.",
  429: "The rate limit is exceeded. `Retry-After` has the seconds until the next request is allowed.",
  500: "An internal error occurred. The operator can find its cause by the request id.",
  503: "The service is temporarily unavailable, for example because it is shutting down.",
};

/** The headers of every response of a route with a rate limit. */
export const publicHeaders: Json = {
  "X-Request-Id": requestIdHeader,
  ...notKept,
  "RateLimit-Limit": header("RateLimit-Limit", "Requests allowed per minute.", "integer", 800),
  "RateLimit-Remaining": header("RateLimit-Remaining", "Requests that may be made now.", "integer", 799),
  "RateLimit-Reset": header(
    "RateLimit-Reset",
    "Seconds until the full limit is available again.",
    "integer",
    1,
  ),
};

const headersOf: Partial<Record<PublicErrorCode, Json>> = {
  missing_token: challenge,
  invalid_token: challenge,
  insufficient_scope: challenge,
  subscription_failed: subscriptionBudget,
  rate_limited: retryAfter,
  unavailable: retryAfter,
};

/** Returns the responses of the public listener for error codes, by status. */
export const publicErrorResponses = errorResponder({
  samples: publicSamples,
  statuses: publicStatuses,
  headers: publicHeaders,
  headersOf,
  schema: errorSchema(Object.keys(publicSamples), {
    data: Type.Optional(
      Type.Array(Type.Ref("SubscriptionResult"), {
        description: "The result for each requested event. Only with the code `subscription_failed`.",
      }),
    ),
  }),
  statusOf: (code) => statusOf[code],
});
