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
