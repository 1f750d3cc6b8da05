import { Type } from "@sinclair/typebox";
import type { ErrorCode } from "../../domain/errors.ts";
import { type Scope, scopes } from "../../domain/tokens.ts";
import { version } from "../../runtime/version.ts";
import { statusOf } from "../http/errors.ts";
import {
  challenge,
  header,
  type Json,
  notKept,
  requestIdHeader,
  retryAfter,
  subscriptionBudget,
} from "./components.ts";
import { commonSamples, type ErrorSample, errorResponder, errorSchema } from "./errors.ts";
import type { Reference } from "./scalar.ts";

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

/** The security scheme for an existing access token, which the user of the reference pastes. */
const tokenScheme = "bearerToken";
/** The security scheme for an access token obtained through OAuth. */
const oauthScheme = "accessToken";
/** The name of the security scheme for the credentials of an application. */
export const clientScheme = "clientCredentials";

/** Returns the `security` of an operation that requires an access token with scopes, from either scheme. */
export function tokenSecurity(
  ...needed: readonly Scope[]
): readonly Readonly<Record<string, readonly Scope[]>>[] {
  return [{ [tokenScheme]: [] }, { [oauthScheme]: needed }];
}

/** Tags of the operations in the order in which they are shown. */
const tags = [
  { name: "Tokens", description: "Access tokens of applications and of users (OAuth 2.1)." },
  { name: "Users", description: "Public profiles of users: look up by username, or search." },
  { name: "Categories", description: "Categories of livestreams with their viewers. No token is required." },
  { name: "Event subscriptions", description: "Subscriptions of your application to events." },
  { name: "Events", description: "Event types, the event stream, and the key that verifies signatures." },
  { name: "Application", description: "Settings, state, notices and statistics of your application." },
  {
    name: "Deliveries",
    description: "The log of deliveries with their attempts, retries, replays and tests.",
  },
  { name: "Webhooks", description: "Requests to your webhook URL, by event type." },
];

const scopeDescriptions: Readonly<Record<Scope, string>> = {
  "users:read": "Look up and search users.",
  "events:subscribe": "List, create and delete event subscriptions; read deliveries and send them again.",
};
const scopeTable = Object.fromEntries(scopes.map((scope) => [scope, scopeDescriptions[scope]]));

const tokenUrl = "{base_url}/oauth/token";

/** Returns the reference of the public API at `url`. */
export function publicReference(url: () => string): Reference {
  return {
    path: "/docs/api",
    documentation: {
      info: { title: "On Air API", description: "Reference of the On Air API.", version },
      tags,
      components: {
        securitySchemes: {
          [tokenScheme]: {
            type: "http",
            scheme: "bearer",
            description:
              "An existing access token, in the header `Authorization: Bearer <access_token>`. It needs the scope of the operation.",
          },
          [oauthScheme]: {
            type: "oauth2",
            description: "An access token obtained through OAuth, in the same header.",
            flows: {
              clientCredentials: { tokenUrl, scopes: scopeTable },
              authorizationCode: {
                authorizationUrl: "{base_url}/oauth/authorize",
                tokenUrl,
                refreshUrl: tokenUrl,
                scopes: scopeTable,
              },
            },
          },
          [clientScheme]: {
            type: "http",
            scheme: "basic",
            description: "The `client_id` and `client_secret` of an application.",
          },
        },
      },
    },
    scheme: tokenScheme,
    url,
    complete: async (...of) => (await import("./public-document.ts")).publicDocument(...of),
  };
}
