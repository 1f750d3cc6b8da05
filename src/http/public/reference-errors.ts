import { Type } from "@sinclair/typebox";
import type { ErrorCode } from "../../domain/errors.ts";
import { statusOf } from "../errors.ts";
import { component, documentSchema, type Json } from "./reference-schemas.ts";

export type PublicErrorCode =
  | Exclude<ErrorCode, "range_not_satisfiable" | "insufficient_role" | "unknown_host">
  | "internal_error";

const closed = { additionalProperties: false };
export const exampleRequestId = "01KEYN2Q9GZ4T7RFDX6M8V3BHC";

interface Sample {
  readonly message: string;
  readonly errors?: readonly object[];
  readonly data?: readonly object[];
}

const missingBroadcaster = "Event channel.followed belongs to a channel: broadcaster_user_id is required";

/** What each error looks like. */
const samples: Readonly<Record<PublicErrorCode, Sample>> = {
  invalid_parameter: {
    message: "limit must be an integer from 1 to 100",
    errors: [{ in: "query", field: "limit", message: "must be an integer from 1 to 100" }],
  },
  invalid_json: { message: "The body is not valid JSON" },
  invalid_cursor: {
    message: "cursor belongs to another name filter",
    errors: [{ in: "query", field: "cursor", message: "belongs to another name filter" }],
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
    message: "This application gets its events by webhook only; ask the platform for its stream",
  },
  user_not_found: { message: "There is no user with this username" },
  category_not_found: { message: "There is no category with this id" },
  not_found: { message: "There is nothing at this path" },
  method_not_allowed: { message: "This path answers GET, HEAD, OPTIONS" },
  conflict: { message: "The body of its event is no longer kept, so it cannot be sent again" },
  body_too_large: { message: "The body must be at most 65536 bytes" },
  unsupported_media_type: { message: "The body must be sent with Content-Type: application/json" },
  rate_limited: { message: "Too many requests; try again in 3 seconds" },
  unavailable: { message: "The service cannot answer just now; try again soon" },
  internal_error: { message: "Something went wrong on our side. The request id helps to find out what." },
};

const statusDescriptions: Readonly<Record<number, string>> = {
  400: "Something in the request is wrong. All wrong fields are listed at once.",
  401: "There is no access token, or it is unknown, revoked or expired.",
  403: "The token lacks the scope of this operation, or the application may not use it.",
  404: "It does not exist.",
  409: "It contradicts the state of things; the message says how.",
  413: "The body is larger than 64 KiB.",
  415: "The body has another media type.",
  429: "The rate limit is used up. `Retry-After` says when the next request is allowed.",
  500: "Something went wrong on our side; the request id helps to find out what.",
  503: "The service cannot answer just now, for example because it is shutting down.",
};

export const FieldProblemSchema = Type.Object(
  {
    in: Type.Union(
      ["body", "query", "path", "header"].map((place) => Type.Literal(place)),
      { description: "Where the field is." },
    ),
    field: Type.String({ description: "Name or path of the field." }),
    message: Type.String({ description: "What is wrong with it." }),
  },
  { $id: "FieldProblem", description: "A field that is wrong.", ...closed },
);

const ErrorSchema = Type.Object(
  {
    message: Type.String({ description: "What went wrong, for people to read. Its words may change." }),
    code: Type.Union(
      Object.keys(samples).map((code) => Type.Literal(code)),
      { description: "What went wrong, for programs to act on." },
    ),
    errors: Type.Array(FieldProblemSchema, {
      description: "The fields that are wrong; empty for most errors.",
    }),
    request_id: Type.String({ description: "The same as in the header `X-Request-Id`." }),
    data: Type.Optional(
      Type.Array(Type.Ref("SubscriptionResult"), {
        description: "Only with `subscription_failed`: the result for each requested event.",
      }),
    ),
  },
  { $id: "Error", description: "Every error of every path has this shape.", ...closed },
);

/** A response header, shared by all responses that have it. */
export function header(
  name: string,
  description: string,
  type: "string" | "integer" | "boolean",
  example: string | number | boolean,
): Json {
  return component(`headers/${name}`, { description, schema: { type }, example });
}

export const requestIdHeader = header(
  "X-Request-Id",
  "Names this request in our logs: the value that the request carried in the same header, else a new one.",
  "string",
  exampleRequestId,
);

/** The headers of every answer of a route with a rate limit. */
export const commonHeaders: Json = {
  "X-Request-Id": requestIdHeader,
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

export const budgetHeaders: Json = {
  "Onair-Subscriptions-Used": header(
    "Onair-Subscriptions-Used",
    "How many subscriptions the application has.",
    "integer",
    1,
  ),
  "Onair-Subscriptions-Limit": header(
    "Onair-Subscriptions-Limit",
    "How many subscriptions the application may have.",
    "integer",
    10_000,
  ),
};

export const retryAfter = {
  "Retry-After": header("Retry-After", "Seconds to wait before the next request.", "integer", 3),
};
export const challenge = {
  "WWW-Authenticate": header(
    "WWW-Authenticate",
    "What the request lacked (RFC 6750, section 3).",
    "string",
    'Bearer realm="onair", error="invalid_token", error_description="The access token is unknown, revoked or expired"',
  ),
};

const headersOf: Partial<Record<PublicErrorCode, Json>> = {
  missing_token: challenge,
  invalid_token: challenge,
  insufficient_scope: challenge,
  subscription_failed: budgetHeaders,
  rate_limited: retryAfter,
  unavailable: retryAfter,
};

/** The responses for these errors, by status. */
export function errorResponses(codes: readonly PublicErrorCode[]): Record<number, Json> {
  const byStatus = Map.groupBy(new Set(codes), (code) => statusOf[code]);
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, errorResponse(status, group)]));
}

function errorResponse(status: number, codes: readonly PublicErrorCode[]): Json {
  const name = codes.map((code) => code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase()));
  return component(`responses/${name.join("Or")}`, {
    description: statusDescriptions[status],
    headers: Object.assign({}, commonHeaders, ...codes.map((code) => headersOf[code])),
    content: {
      "application/json": {
        schema: documentSchema(ErrorSchema),
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  });
}

/** What an error says, and when it comes. */
export function messageOf(code: PublicErrorCode): { readonly message: string; readonly description: string } {
  return { message: samples[code].message, description: statusDescriptions[statusOf[code]] ?? "" };
}

function exampleOf(code: PublicErrorCode): Json {
  const { message, errors = [], data } = samples[code];
  return { ...(data && { data }), message, code, errors, request_id: exampleRequestId };
}
