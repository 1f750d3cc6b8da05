import { keptFor } from "../content.ts";
import { component, header, type Json } from "./components.ts";

/*
 * Headers of answers as the documents show them.
 */

export const exampleRequestId = "01KEYN2Q9GZ4T7RFDX6M8V3BHC";

export const requestIdHeader = header(
  "X-Request-Id",
  "Names this request in our logs: the value that the request carried in the same header, else a new one.",
  "string",
  exampleRequestId,
);

export const retryAfter: Json = {
  "Retry-After": header("Retry-After", "Seconds to wait before the next request.", "integer", 3),
};

export const challenge: Json = {
  "WWW-Authenticate": header(
    "WWW-Authenticate",
    "What the request lacked (RFC 6750, section 3).",
    "string",
    'Bearer realm="onair", error="invalid_token", error_description="The access token is unknown, revoked or expired"',
  ),
};

export const basicChallenge: Json = {
  "WWW-Authenticate": component("headers/Basic-WWW-Authenticate", {
    description: "How an application authenticates.",
    schema: { type: "string" },
    example: 'Basic realm="onair"',
  }),
};

export const contentRange: Json = {
  "Content-Range": header(
    "Content-Range",
    "Which part it is, of how many bytes; `bytes */4096` where there is no such part.",
    "string",
    "bytes 0-1023/4096",
  ),
};

export const subscriptionBudget: Json = {
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

/** Of an answer that may not be kept. */
export const notKept: Json = {
  "Cache-Control": header("Cache-Control", "The answer may not be kept.", "string", "no-store"),
};

/** Of an answer with an `ETag` that may be kept for some seconds, in place of `notKept`. */
export const cacheHeaders = (seconds: number): Json => ({
  ETag: header(
    "ETag",
    "Names this state of the answer; send it back as `If-None-Match`.",
    "string",
    '"2ke8x0q1v7fmz"',
  ),
  "Cache-Control": {
    description: "For how many seconds the answer may be kept.",
    schema: { type: "string" },
    example: keptFor(seconds)["cache-control"],
  },
});
