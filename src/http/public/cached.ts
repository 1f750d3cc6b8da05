import { type Exchange, type ExtraHeaders, reply } from "../exchange.ts";

/** The bytes of an answer, ready to be sent: in a `Blob`, which is not copied for each answer. */
export interface Cached {
  readonly body: Blob;
  readonly etag: string;
}

export function cached(body: Uint8Array<ArrayBuffer>): Cached {
  return { body: new Blob([body]), etag: `"${Bun.hash(body).toString(36)}"` };
}

/** Answers with bytes that the client may have already: then 304. */
export function replyCached(
  exchange: Exchange,
  request: Request,
  { body, etag }: Cached,
  headers: ExtraHeaders,
): Response {
  const known = request.headers.get("if-none-match");
  const status = known !== null && matches(known, etag) ? 304 : 200;
  return reply(exchange, status, status === 304 ? null : body, { ...headers, etag });
}

/** Weak comparison of If-None-Match (RFC 9110, section 13.1.2). */
function matches(header: string, etag: string): boolean {
  return header.split(",").some((part) => {
    const tag = part.trim();
    return tag === "*" || tag === etag || tag === `W/${etag}`;
  });
}
