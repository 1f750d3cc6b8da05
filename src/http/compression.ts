import { type RequestContext, reply } from "./request-context.ts";

/** Compresses outside the event loop. node:zlib is loaded on demand, to keep it out of the start. */
export function compress(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
  process.getBuiltinModule("node:zlib").gzip(bytes, (error, compressed) => {
    if (error) reject(error);
    else resolve(new Uint8Array(compressed));
  });
  return promise;
}

/** Whether a header Accept-Encoding allows gzip (RFC 9110, section 12.5.3). */
export function acceptsGzip(header: string): boolean {
  return header
    .toLowerCase()
    .split(",")
    .some((part) => {
      const [coding = "", weight = ""] = part.split(";").map((word) => word.trim());
      return coding === "gzip" && !/^q=0(\.0*)?$/.test(weight);
    });
}

/**
 * Makes an answer with a large JSON value that seldom changes, compressed where the client allows it: the value and its
 * bytes are made once for each `of`.
 */
export function compressedJson<Of>(make: (of: Of) => unknown) {
  let kept: { of: Of; plain: Uint8Array<ArrayBuffer>; gzipped: Promise<Uint8Array<ArrayBuffer>> } | null =
    null;
  return async (requestContext: RequestContext, of: Of): Promise<Response> => {
    if (kept?.of !== of) {
      const plain = new TextEncoder().encode(JSON.stringify(make(of)));
      kept = { of, plain, gzipped: compress(plain) };
    }
    const isGzip = acceptsGzip(requestContext.request.headers.get("accept-encoding") ?? "");
    return reply(requestContext, 200, isGzip ? await kept.gzipped : kept.plain, {
      vary: "accept-encoding",
      ...(isGzip && { "content-encoding": "gzip" }),
    });
  };
}
