import { type Exchange, type ExtraHeaders, reply } from "./exchange.ts";

/** The bytes of an answer, ready to be sent. */
export interface Cached {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

export function cached(body: Uint8Array<ArrayBuffer>): Cached {
  return { body, etag: `"${Bun.hash(body).toString(36)}"` };
}

/** Answers with bytes that the client may have already: then 304. */
export function replyCached(exchange: Exchange, { body, etag }: Cached, headers: ExtraHeaders): Response {
  const all = { ...headers, etag };
  return hasAlready(exchange, etag) ? reply(exchange, 304, null, all) : reply(exchange, 200, body, all);
}

function hasAlready({ request }: Exchange, etag: string): boolean {
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
