import type { Reply } from "../../wire/reply.ts";
import { type Exchange, type ExtraHeaders, headersOf, linesOf, reply, replyLines } from "../exchange.ts";

/** The bytes of an answer, ready to be sent. */
export interface Cached {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  /** The lines of its answers, kept from the first one on. */
  lines?: string;
}

export function cached(body: Uint8Array<ArrayBuffer>): Cached {
  return { body, etag: `"${Bun.hash(body).toString(36)}"` };
}

/** Answers with bytes that the client may have already: then 304. */
export function replyCached(exchange: Exchange, { body, etag }: Cached, headers: ExtraHeaders): Response {
  const all = { ...headers, etag };
  return hasAlready(exchange, etag) ? reply(exchange, 304, null, all) : reply(exchange, 200, body, all);
}

/** The same in front of the app. `headers` must be the same for all answers with these bytes. */
export function replyReady(exchange: Exchange, page: Cached, headers: ExtraHeaders): Reply {
  page.lines ??= linesOf(headersOf(exchange, { ...headers, etag: page.etag }));
  if (!hasAlready(exchange, page.etag)) return replyLines(exchange, 200, page.lines, page.body);
  return replyLines(exchange, 304, page.lines.replace(typeLine, ""), null);
}

/** A 304 has no body, so nothing to name the type of. */
const typeLine = /^content-type: .*\r\n/m;

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
