import { type ExtraHeaders, type RequestContext, reply } from "./request-context.ts";

/** The body of an answer with its `ETag`. */
export interface Cached {
  readonly body: Uint8Array<ArrayBuffer> | Blob;
  readonly etag: string;
}

export function cached(bytes: Uint8Array<ArrayBuffer>): Cached {
  return { body: shared(bytes), etag: `"${Bun.hash(bytes).toString(36)}"` };
}

const sharedBytes = 32 * 1024;

/** Bun copies bytes for each answer and keeps the copy until the client has taken it; a large Blob is not copied. */
function shared(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | Blob {
  return bytes.byteLength < sharedBytes ? bytes : new Blob([bytes]);
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

/** Makes a value with its first use. What failed is made anew when it is next asked for. */
export function onceUnlessFailed<T, Given extends readonly unknown[]>(
  make: (...given: Given) => Promise<T>,
): (...given: Given) => Promise<T> {
  let made: Promise<T> | null = null;
  return (...given) => {
    made ??= make(...given).catch((error) => {
      made = null;
      throw error;
    });
    return made;
  };
}
