import { type ExtraHeaders, type RequestContext, reply } from "./context.ts";

/** The body of a response that is sent many times, with its `ETag`. */
export interface CacheableContent {
  readonly body: Uint8Array<ArrayBuffer> | Blob;
  readonly etag: string;
}

/** Content with a compressed form, which is made when first needed. */
export interface CompressibleContent extends CacheableContent {
  gzipped(): Promise<CacheableContent>;
}

/** From this size on, content is a `Blob`. */
const blobBytes = 32 * 1024;

export function contentOf(source: Uint8Array<ArrayBuffer> | string): CompressibleContent {
  const bytes = typeof source === "string" ? new TextEncoder().encode(source) : source;
  let gzipped: Promise<CacheableContent> | null = null;
  return {
    // Bun copies bytes for each response and keeps the copy until it is sent; a large Blob is not copied.
    body: bytes.byteLength < blobBytes ? bytes : new Blob([bytes]),
    etag: `"${Bun.hash(bytes).toString(36)}"`,
    gzipped() {
      gzipped ??= compress(bytes).then(contentOf);
      return gzipped;
    },
  };
}

/** Returns a value as JSON, as the content of responses. */
export function jsonContentOf(value: unknown): CompressibleContent {
  return contentOf(JSON.stringify(value));
}

/** Compresses outside the event loop. node:zlib is loaded on demand, to keep it out of the start. */
function compress(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
  process.getBuiltinModule("node:zlib").gzip(bytes, (error, compressed) => {
    if (error) reject(error);
    else resolve(new Uint8Array(compressed));
  });
  return promise;
}

/** Returns a response with content, or 304 if the client already has it. */
export function replyContent(
  requestContext: RequestContext,
  { body, etag }: CacheableContent,
  headers: ExtraHeaders,
): Response {
  const all = { ...headers, etag };
  return isNotModified(requestContext, etag)
    ? reply(requestContext, 304, null, all)
    : reply(requestContext, 200, body, all);
}

/** Returns a response with content, compressed if the client accepts that, or 304 if the client already has it. */
export async function replyCompressed(
  requestContext: RequestContext,
  content: CompressibleContent,
  headers: ExtraHeaders,
): Promise<Response> {
  const isGzip = acceptsGzip(requestContext);
  const coding = { vary: "accept-encoding", ...(isGzip && { "content-encoding": "gzip" }) };
  const sent = isGzip ? await content.gzipped() : content;
  return replyContent(requestContext, sent, { ...headers, ...coding });
}

/** Returns a response with JSON that shared caches may keep for `seconds`. */
export function replyPublicJson(requestContext: RequestContext, value: unknown, seconds: number): Response {
  return replyContent(requestContext, jsonContentOf(value), cacheableFor(seconds));
}

/** Returns the header of a response that shared caches may keep for `seconds`. */
export const cacheableFor = (seconds: number) => ({ "cache-control": `public, max-age=${seconds}` });

/** Returns a response with a large JSON value, compressed if the client accepts that. */
export async function replyLargeJson(requestContext: RequestContext, value: unknown): Promise<Response> {
  const text = JSON.stringify(value);
  const vary = "accept-encoding";
  if (!acceptsGzip(requestContext)) return reply(requestContext, 200, text, { vary });
  const compressed = await compress(Buffer.from(text));
  return reply(requestContext, 200, compressed, { vary, "content-encoding": "gzip" });
}

const acceptsGzip = ({ request }: RequestContext) => accepts(request.headers.get("accept-encoding"), "gzip");

/** Whether a header such as Accept names a value and does not refuse it with `q=0` (RFC 9110, section 12.4.2). */
export function accepts(header: string | null, value: string): boolean {
  return (header ?? "").split(",").some((offer) => {
    const [name, ...parameters] = offer.split(";").map((part) => part.trim().toLowerCase());
    return name === value && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Whether the client is a browser, which gets a page in place of a JSON error. */
export const isBrowser = ({ request }: RequestContext) => accepts(request.headers.get("accept"), "text/html");

/** Weak comparison of If-None-Match (RFC 9110, section 13.1.2). */
function isNotModified({ request }: RequestContext, etag: string): boolean {
  const known = request.headers.get("if-none-match");
  if (known === null) return false;
  return known.split(",").some((part) => ["*", etag, `W/${etag}`].includes(part.trim()));
}

/**
 * Returns a function that caches the last result of `make`. It calls `make` again if the key differs or the call
 * failed.
 */
export function cachedLast<T, Args extends readonly unknown[]>(
  make: (...args: Args) => Promise<T>,
  keyOf: (...args: Args) => unknown = () => null,
): (...args: Args) => Promise<T> {
  let made: { readonly key: unknown; readonly value: Promise<T> } | null = null;
  return (...args) => {
    const key = keyOf(...args);
    if (made !== null && made.key === key) return made.value;
    const current = { key, value: make(...args) };
    made = current;
    current.value.catch(() => {
      if (made === current) made = null;
    });
    return current.value;
  };
}
