import { type Cached, cached } from "./cached.ts";
import { type ExtraHeaders, type RequestContext, reply } from "./request-context.ts";

/** Compresses outside the event loop. node:zlib is loaded on demand, to keep it out of the start. */
function compress(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
  process.getBuiltinModule("node:zlib").gzip(bytes, (error, compressed) => {
    if (error) reject(error);
    else resolve(new Uint8Array(compressed));
  });
  return promise;
}

/** Whether a header Accept-Encoding allows gzip (RFC 9110, section 12.5.3). */
function acceptsGzip(header: string): boolean {
  return header
    .toLowerCase()
    .split(",")
    .some((part) => {
      const [coding = "", weight = ""] = part.split(";").map((word) => word.trim());
      return coding === "gzip" && !/^q=0(\.0*)?$/.test(weight);
    });
}

/** The bodies of answers with the same bytes. Each is made when it is first needed. */
interface Bodies {
  plain?: Cached;
  gzipped?: Promise<Cached>;
}

const bodiesOf = new WeakMap<Uint8Array, Bodies>();

/** A body for bytes that do not change, compressed where the client allows it, and the headers that say so. */
export async function encoded(
  { request }: RequestContext,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<{ readonly body: Cached; readonly headers: ExtraHeaders }> {
  const bodies = bodiesOf.get(bytes) ?? {};
  bodiesOf.set(bytes, bodies);
  const vary = "accept-encoding";
  if (!acceptsGzip(request.headers.get(vary) ?? "")) {
    bodies.plain ??= cached(bytes);
    return { body: bodies.plain, headers: { vary } };
  }
  bodies.gzipped ??= compress(bytes).then(cached);
  return { body: await bodies.gzipped, headers: { vary, "content-encoding": "gzip" } };
}

/** Answers with bytes that do not change, compressed where the client allows it. */
export async function replyEncoded(
  requestContext: RequestContext,
  bytes: Uint8Array<ArrayBuffer>,
  headers: ExtraHeaders = {},
): Promise<Response> {
  const { body, headers: ofBody } = await encoded(requestContext, bytes);
  return reply(requestContext, 200, body.body, { ...headers, ...ofBody });
}

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** Answers with a large JSON value, compressed where the client allows it. */
export const largeJson = (requestContext: RequestContext, value: unknown): Promise<Response> =>
  replyEncoded(requestContext, bytesOf(value));

/** Makes an answer with a large JSON value that seldom changes: the value and its bytes are made once for each `of`. */
export function encodedJson<Of>(make: (of: Of) => unknown) {
  let kept: { of: Of; bytes: Uint8Array<ArrayBuffer> } | null = null;
  return (requestContext: RequestContext, of: Of): Promise<Response> => {
    if (kept?.of !== of) kept = { of, bytes: bytesOf(make(of)) };
    return replyEncoded(requestContext, kept.bytes);
  };
}
