import { keptFor } from "../content.ts";
import { component, header, type Json } from "./components.ts";

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

export const retryAfter: Json = {
  "Retry-After": header("Retry-After", "Seconds to wait before the next request.", "integer", 3),
};

export const challenge: Json = {
  "WWW-Authenticate": header(
    "WWW-Authenticate",
    "The authentication that the request needs (RFC 6750, section 3).",
    "string",
    'Bearer realm="onair", error="invalid_token", error_description="The access token is unknown, revoked or expired"',
  ),
};

export const basicChallenge: Json = {
  "WWW-Authenticate": component("headers/Basic-WWW-Authenticate", {
    description: "The authentication that the application needs.",
    schema: { type: "string" },
    example: 'Basic realm="onair"',
  }),
};

export const contentRange: Json = {
  "Content-Range": header(
    "Content-Range",
    "The range of the file and its size, in bytes; `bytes */4096` if the requested range does not exist.",
    "string",
    "bytes 0-1023/4096",
  ),
};

export const subscriptionBudget: Json = {
  "Onair-Subscriptions-Used": header(
    "Onair-Subscriptions-Used",
    "Number of subscriptions of the application.",
    "integer",
    1,
  ),
  "Onair-Subscriptions-Limit": header(
    "Onair-Subscriptions-Limit",
    "Maximum number of subscriptions of the application.",
    "integer",
    10_000,
  ),
};

/** Headers of a response that must not be cached. */
export const notKept: Json = {
  "Cache-Control": header("Cache-Control", "The response must not be cached.", "string", "no-store"),
};

/** Headers of a response with an `ETag` that may be cached, in place of `notKept`. */
export const cacheHeaders = (seconds: number): Json => ({
  ETag: header(
    "ETag",
    "Version of the response. Send it as `If-None-Match` to get 304 while it is unchanged.",
    "string",
    '"2ke8x0q1v7fmz"',
  ),
  "Cache-Control": {
    description: "Seconds for which the response may be cached.",
    schema: { type: "string" },
    example: keptFor(seconds)["cache-control"],
  },
});
