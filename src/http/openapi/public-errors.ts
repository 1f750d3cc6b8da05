import { Type } from "@sinclair/typebox";
import type { ErrorCode } from "../../domain/errors.ts";
import { statusOf } from "../errors.ts";
import { header, type Json } from "./components.ts";
import { commonSamples, type ErrorSample, errorResponder, errorSchema } from "./errors.ts";
import { challenge, notKept, requestIdHeader, retryAfter, subscriptionBudget } from "./headers.ts";

/** Codes of the errors that routes of the public listener may have. */
export type PublicErrorCode =
  | Exclude<ErrorCode, "range_not_satisfiable" | "insufficient_role" | "unknown_host">
  | "internal_error";

const missingBroadcaster = "Event channel.followed belongs to a channel: broadcaster_user_id is required";

/** What each error looks like. */
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
    message: "This application gets its events by webhook only; set its delivery to stream or both",
  },
  locked: {
    message: "webhook_url is locked: only the platform can change it",
    errors: [{ in: "body", field: "webhook_url", message: "is locked: only the platform can change it" }],
  },
  user_not_found: { message: "There is no user with this username" },
  not_found: { message: "There is nothing at this path" },
  method_not_allowed: { message: "This path answers GET, HEAD, OPTIONS" },
  conflict: { message: "The body of its event is no longer kept, so it cannot be sent again" },
  body_too_large: { message: "The body must be at most 65536 bytes" },
  rate_limited: { message: "Too many requests; try again in 3 seconds" },
};

export const publicStatuses: Readonly<Record<number, string>> = {
  400: "Something in the request is wrong. All wrong fields are listed at once.",
  401: "There is no access token, or it is unknown, revoked or expired.",
  403: "The token lacks the scope of this operation or is one of a user, or the application may not use it.",
  404: "It does not exist.",
  409: "It contradicts the state of things; the message says how.",
  413: "The body is larger than 64 KiB.",
  415: "The body has another media type.",
  429: "The rate limit is used up. `Retry-After` says when the next request is allowed.",
  500: "Something went wrong on our side; the request id helps to find out what.",
  503: "The service cannot answer just now, for example because it is shutting down.",
};

/** The headers of every answer of a route with a rate limit. */
export const publicHeaders: Json = {
  "X-Request-Id": requestIdHeader,
  ...notKept,
  "RateLimit-Limit": header("RateLimit-Limit", "Requests that you may make in a minute.", "integer", 800),
  "RateLimit-Remaining": header(
    "RateLimit-Remaining",
    "Requests that you may make right now.",
    "integer",
    799,
  ),
  "RateLimit-Reset": header(
    "RateLimit-Reset",
    "Seconds until the whole limit is available again.",
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

/** The responses of the public listener for these errors, by status. */
export const publicErrorResponses = errorResponder({
  samples: publicSamples,
  statuses: publicStatuses,
  headers: publicHeaders,
  headersOf,
  schema: errorSchema(Object.keys(publicSamples), {
    data: Type.Optional(
      Type.Array(Type.Ref("SubscriptionResult"), {
        description: "Only with `subscription_failed`: the result for each requested event.",
      }),
    ),
  }),
  statusOf: (code) => statusOf[code],
});
