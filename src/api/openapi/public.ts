import { Type } from "@sinclair/typebox";
import { type Scope, scopes } from "../../domain/tokens.ts";
import { oneOf } from "../../domain/validation/fields.ts";
import {
  isOAuthErrorCode,
  type OAuthErrorCode,
  oauthFields,
  type PublicErrorCode,
  statusOf,
} from "../http/errors.ts";
import { beyondApplication } from "../http/oauth.ts";
import {
  basicChallenge,
  challenge,
  clientScheme,
  exampleUrl,
  header,
  type Json,
  notKept,
  oauthScheme,
  requestIdHeader,
  retryAfter,
  subscriptionBudget,
  tokenScheme,
} from "../http/openapi.ts";
import { named } from "../http/parameters.ts";
import { noLogin } from "../oauth/authorize.ts";
import { notExchanged } from "../oauth/tokens.ts";
import introduction from "./assets/public-introduction.md" with { type: "text" };
import {
  commonSamples,
  complete,
  type ErrorSample,
  errorResponder,
  errorSchema,
  FieldProblemSchema,
  type ListenerRules,
  type Operation,
  type WrittenDocument,
} from "./document.ts";
import { applicationWebhooks } from "./webhooks.ts";

/*
 * The OpenAPI document of the public listener: its errors, those of the OAuth endpoints, and its tags and security
 * schemes. Loaded when the document is first requested.
 */

const missingBroadcaster = "Event channel.followed belongs to a channel: broadcaster_user_id is required";

/** An example of each error. */
const publicSamples: Readonly<Record<PublicErrorCode, ErrorSample>> = {
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

const publicStatuses: Readonly<Record<number, string>> = {
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
const publicHeaders: Json = {
  ...requestIdHeader,
  ...notKept,
  ...header("RateLimit-Limit", "Requests allowed per minute.", "integer", 800),
  ...header("RateLimit-Remaining", "Requests that may be made now.", "integer", 799),
  ...header("RateLimit-Reset", "Seconds until the full limit is available again.", "integer", 1),
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
const publicErrorResponses = errorResponder({
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

/** An example of each error of RFC 6749. */
const failures: Readonly<Record<OAuthErrorCode, ErrorSample>> = {
  invalid_request: { message: "grant_type is required" },
  invalid_client: { message: "The client_id or client_secret is wrong" },
  invalid_grant: { message: notExchanged },
  unauthorized_client: { message: "A public client cannot get a token of its own" },
  unsupported_grant_type: {
    message: "The supported grant types are client_credentials, authorization_code, refresh_token",
  },
  invalid_scope: { message: beyondApplication },
  unsupported_response_type: { message: "The supported response_type is code" },
  server_error: { message: noLogin },
};

/** Errors that OAuth endpoints share with all others. */
const always: readonly PublicErrorCode[] = ["rate_limited", "internal_error", "unavailable"];
/** Errors of OAuth endpoints that read a form. */
const ofBodies: readonly PublicErrorCode[] = ["body_too_large", "unsupported_media_type"];

const codes = [...Object.keys(failures), "method_not_allowed", ...ofBodies, ...always];
const errorWords = [...Object.keys(failures), "temporarily_unavailable"];

const OAuthErrorSchema = named(
  "OAuthError",
  "An error with the fields of RFC 6749, section 5.2, in addition to those of every error.",
  {
    error: oneOf(errorWords, { description: "Code of the error, for OAuth libraries." }),
    error_description: Type.String({
      description: "Description of the error for people. The wording may change.",
    }),
    message: Type.String({ description: "The same as `error_description`." }),
    code: oneOf(codes, {
      description: "Code of the error, for programs; the same as `error` for errors of RFC 6749.",
    }),
    errors: Type.Array(FieldProblemSchema, { description: "Always empty." }),
    request_id: Type.String({ description: "Id of the request; the same as the header `X-Request-Id`." }),
  },
);

const responses = errorResponder<OAuthErrorCode | PublicErrorCode>({
  prefix: "OAuth",
  samples: {
    ...publicSamples,
    ...failures,
    unsupported_media_type: {
      message: "The body must be sent with Content-Type: application/x-www-form-urlencoded",
    },
  },
  statuses: {
    ...publicStatuses,
    400: "The request is invalid.",
    401: "The application was not authenticated.",
  },
  headers: publicHeaders,
  headersOf: { invalid_client: basicChallenge, rate_limited: retryAfter, unavailable: retryAfter },
  schema: OAuthErrorSchema,
  statusOf: (code) => (isOAuthErrorCode(code) ? (code === "invalid_client" ? 401 : 400) : statusOf[code]),
  moreOf: oauthFields,
});

/**
 * Returns the responses of an OAuth endpoint, by status. `failures` are its own errors.
 * @param hasClient whether the endpoint authenticates an OAuth client and reads a form
 */
function oauthErrorResponses(failures: readonly OAuthErrorCode[], hasClient: boolean) {
  const ofClients = hasClient ? (["invalid_client", ...ofBodies] as const) : [];
  return responses([...failures, ...ofClients, ...always]);
}

const rules: ListenerRules = {
  headers: publicHeaders,
  errorResponses(operation) {
    const { codes, body } = operation;
    const failures = codes.filter(isOAuthErrorCode);
    if (failures.length > 0) return oauthErrorResponses(failures, body === "form");
    return publicErrorResponses(errorsOf(operation));
  },
};

function errorsOf({ hasParameters, body, security, codes }: Operation): PublicErrorCode[] {
  const errors: PublicErrorCode[] = [];
  if (hasParameters || body) errors.push("invalid_parameter");
  if (body) errors.push("invalid_json", "body_too_large", "unsupported_media_type");
  if (security.length > 0) errors.push("missing_token", "invalid_token", "insufficient_scope");
  errors.push(...(codes as readonly PublicErrorCode[]));
  return [...errors, "rate_limited", "internal_error", "unavailable"];
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

const securitySchemes: Json = {
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
};

/** Returns the OpenAPI document of the public listener at `url`, as JSON. */
export function publicDocument(written: WrittenDocument, url: string): string {
  const document = complete(written, rules, {
    api: "public",
    title: "On Air",
    summary: "The public developer API of a live-streaming platform.",
    introduction,
    url,
    tags,
    securitySchemes,
    externalDocs: { description: "Guides", url: `${url}/docs` },
    webhooks: applicationWebhooks("Webhooks"),
  });
  return JSON.stringify(document).replaceAll("{base_url}", url).replaceAll(exampleUrl, url);
}
