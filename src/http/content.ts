import { type ExtraHeaders, type RequestContext, reply } from "./request-context.ts";

/** The body of an answer that is sent many times, with its `ETag`. */
interface SharedContent {
  readonly body: Uint8Array<ArrayBuffer> | Blob;
  readonly etag: string;
}

/** Content that is compressed where the client allows it, when it is first needed. */
interface CompressibleContent extends SharedContent {
  gzipped(): Promise<SharedContent>;
}

const sharedBytes = 32 * 1024;

export function contentOf(given: Uint8Array<ArrayBuffer> | string): CompressibleContent {
  const bytes = typeof given === "string" ? new TextEncoder().encode(given) : given;
  let gzipped: Promise<SharedContent> | null = null;
  return {
    // Bun copies bytes for each answer and keeps the copy until the client has taken it; a large Blob is not copied.
    body: bytes.byteLength < sharedBytes ? bytes : new Blob([bytes]),
    etag: `"${Bun.hash(bytes).toString(36)}"`,
    gzipped() {
      gzipped ??= compress(bytes).then(contentOf);
      return gzipped;
    },
  };
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

/** Answers with content, or with 304 when the client already has it. */
export function replyContent(
  requestContext: RequestContext,
  { body, etag }: SharedContent,
  headers: ExtraHeaders,
): Response {
  const all = { ...headers, etag };
  return isNotModified(requestContext, etag)
    ? reply(requestContext, 304, null, all)
    : reply(requestContext, 200, body, all);
}

/** The same, compressed where the client allows it. */
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

/** Answers with JSON that everybody may keep for some time. */
export function replyPublicJson(requestContext: RequestContext, value: unknown, seconds: number): Response {
  return replyContent(requestContext, contentOf(JSON.stringify(value)), keptFor(seconds));
}

/** The header of an answer that everybody may keep for some time. */
export const keptFor = (seconds: number) => ({ "cache-control": `public, max-age=${seconds}` });

/** Answers with a large JSON value, compressed where the client allows it. */
export async function replyLargeJson(requestContext: RequestContext, value: unknown): Promise<Response> {
  const text = JSON.stringify(value);
  const vary = "accept-encoding";
  if (!acceptsGzip(requestContext)) return reply(requestContext, 200, text, { vary });
  const compressed = await compress(Buffer.from(text));
  return reply(requestContext, 200, compressed, { vary, "content-encoding": "gzip" });
}

/** Whether the header Accept-Encoding allows gzip (RFC 9110, section 12.5.3). */
function acceptsGzip({ request }: RequestContext): boolean {
  const parts = (request.headers.get("accept-encoding") ?? "").toLowerCase().split(",");
  return parts.some((part) => {
    const [coding = "", weight = ""] = part.split(";").map((word) => word.trim());
    return coding === "gzip" && !/^q=0(\.0*)?$/.test(weight);
  });
}

/** Weak comparison of If-None-Match (RFC 9110, section 13.1.2). */
function isNotModified({ request }: RequestContext, etag: string): boolean {
  const known = request.headers.get("if-none-match");
  if (known === null) return false;
  return known.split(",").some((part) => ["*", etag, `W/${etag}`].includes(part.trim()));
}

/** Makes a value and keeps it. It is made anew when its key is another one, and where it failed. */
export function kept<T, Given extends readonly unknown[]>(
  make: (...given: Given) => Promise<T>,
  keyOf: (...given: Given) => unknown = () => null,
): (...given: Given) => Promise<T> {
  let made: { readonly key: unknown; readonly value: Promise<T> } | null = null;
  return (...given) => {
    const key = keyOf(...given);
    if (made !== null && made.key === key) return made.value;
    const current = { key, value: make(...given) };
    made = current;
    current.value.catch(() => {
      if (made === current) made = null;
    });
    return current.value;
  };
}
