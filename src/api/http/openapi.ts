import type { TSchema } from "@sinclair/typebox";
import type { Scope } from "../../domain/tokens.ts";
import { cacheableFor } from "./content.ts";

/** A JSON object of an OpenAPI document. */
export type Json = Record<string, unknown>;

/**
 * The keyword that marks a part of the document as a component with a name, such as `schemas/User`. `hoist` moves the
 * part to `components` and leaves a reference, so that source code can define each part where it is used.
 */
export const mark = "x-component";

export function component(name: string, part: Json): Json {
  return { [mark]: name, ...part };
}

/**
 * Returns a schema whose integers have `format: int64` if their maximum does not fit 32 bits. Generators of clients
 * make them 32-bit without it.
 */
export function wide(schema: Json): Json {
  const { type, format, maximum } = schema;
  const isInteger = type === "integer" || (Array.isArray(type) && type.includes("integer"));
  const fits = typeof maximum === "number" && maximum < 2 ** 31;
  return isInteger && format === undefined && !fits ? { ...schema, format: "int64" } : schema;
}

/** Returns a response header under its name, as a component that responses share. */
export function header(
  name: string,
  description: string,
  type: "string" | "integer" | "boolean",
  example: string | number | boolean,
): Json {
  return { [name]: component(`headers/${name}`, { description, schema: wide({ type }), example }) };
}

/** The server's URL in the examples of routes. The document replaces it by the real URL. */
export const exampleUrl = "http://127.0.0.1:8080";

/**
 * The documentation of a route in addition to its schemas. The swagger plugin copies it to the document, where
 * `openapi/document.ts` reads it.
 */
export interface RouteDetail {
  readonly operationId: string;
  /** The default is the words of `operationId`. */
  readonly summary?: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** The JSON form of a body that the handler reads. */
  readonly json?: { readonly schema: TSchema; readonly example: unknown };
  /** The NDJSON form of a body that the handler reads: Elysia has no schema for NDJSON. */
  readonly ndjson?: { readonly description: string; readonly example: readonly unknown[] };
  /** A query that the handler reads. */
  readonly queryRead?: TSchema;
}

/** A route with its documentation, as a macro gets it. */
export interface DescribedRoute {
  detail?: Readonly<Record<string, unknown>>;
}

/** Adds to the documentation of a route. A route without an `operationId` is not documented. */
export function describeRoute(route: DescribedRoute, added: Json): void {
  if (route.detail?.["operationId"] !== undefined) route.detail = { ...route.detail, ...added };
}

/** The keyword for the error codes in a route's `detail`. */
export const errorCodes = "x-errors";

/*
 * Response headers in the OpenAPI documents.
 */

export const exampleRequestId = "01KEYN2Q9GZ4T7RFDX6M8V3BHC";

export const requestIdHeader = header(
  "X-Request-Id",
  "Id of the request in the server's logs: the value of the same header of the request, or a new id.",
  "string",
  exampleRequestId,
);

export const retryAfter = header("Retry-After", "Seconds to wait before the next request.", "integer", 3);

export const challenge = header(
  "WWW-Authenticate",
  "The authentication that the request needs (RFC 6750, section 3).",
  "string",
  'Bearer realm="onair", error="invalid_token", error_description="The access token is unknown, revoked or expired"',
);

export const basicChallenge: Json = {
  "WWW-Authenticate": component("headers/Basic-WWW-Authenticate", {
    description: "The authentication that the application needs.",
    schema: { type: "string" },
    example: 'Basic realm="onair"',
  }),
};

export const contentRange = header(
  "Content-Range",
  "The range of the file and its size, in bytes; `bytes */4096` if the requested range does not exist.",
  "string",
  "bytes 0-1023/4096",
);

export const subscriptionBudget: Json = {
  ...header("Onair-Subscriptions-Used", "Number of subscriptions of the application.", "integer", 1),
  ...header(
    "Onair-Subscriptions-Limit",
    "Maximum number of subscriptions of the application.",
    "integer",
    10_000,
  ),
};

/** Headers of a response that must not be cached. */
export const notKept = header("Cache-Control", "The response must not be cached.", "string", "no-store");

/** Headers of a response with an `ETag` that may be cached, in place of `notKept`. */
export const cacheHeaders = (seconds: number): Json => ({
  ...header(
    "ETag",
    "Version of the response. Send it as `If-None-Match` to get 304 while it is unchanged.",
    "string",
    '"2ke8x0q1v7fmz"',
  ),
  "Cache-Control": {
    description: "Seconds for which the response may be cached.",
    schema: { type: "string" },
    example: cacheableFor(seconds)["cache-control"],
  },
});

/*
 * Security schemes of the OpenAPI documents.
 */

/** The name of the security scheme for the operator key. */
export const operatorScheme = "operatorKey";
/** The name of the security scheme for an existing access token, which the user of the reference pastes. */
export const tokenScheme = "bearerToken";
/** The name of the security scheme for an access token obtained through OAuth. */
export const oauthScheme = "accessToken";
/** The name of the security scheme for the credentials of an application. */
export const clientScheme = "clientCredentials";

/** Returns the `security` of an operation that requires an access token with scopes, from either scheme. */
export function tokenSecurity(
  ...needed: readonly Scope[]
): readonly Readonly<Record<string, readonly Scope[]>>[] {
  return [{ [tokenScheme]: [] }, { [oauthScheme]: needed }];
}
