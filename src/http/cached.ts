import { type ExtraHeaders, type RequestContext, reply } from "./request-context.ts";

/** The bytes of an answer with their `ETag`. */
export interface Cached {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

export function cached(body: Uint8Array<ArrayBuffer>): Cached {
  return { body, etag: `"${Bun.hash(body).toString(36)}"` };
}

/** Answers with the bytes, or with 304 when the client already has them. */
export function replyCached(
  requestContext: RequestContext,
  { body, etag }: Cached,
  headers: ExtraHeaders,
): Response {
  const all = { ...headers, etag };
  return isNotModified(requestContext, etag)
    ? reply(requestContext, 304, null, all)
    : reply(requestContext, 200, body, all);
}

function isNotModified({ request }: RequestContext, etag: string): boolean {
  const known = request.headers.get("if-none-match");
  return known !== null && matches(known, etag);
}

/** Weak comparison of If-None-Match (RFC 9110, section 13.1.2). */
function matches(header: string, etag: string): boolean {
  return header.split(",").some((part) => {
    const tag = part.trim();
    return tag === "*" || tag === etag || tag === `W/${etag}`;
  });
}
