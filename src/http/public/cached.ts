import { type ReadyHead, type Reply, readyHead } from "../../wire/reply.ts";
import { type Exchange, type ExtraHeaders, headersOf, linesOf, reply, replyReady } from "../exchange.ts";

/** The bytes of an answer, ready to be sent. */
export interface Cached {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  /** What its answers begin with, kept from the first one on. */
  heads?: { readonly whole: ReadyHead; readonly notModified: ReadyHead };
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
export function replyPage(exchange: Exchange, page: Cached, headers: ExtraHeaders): Reply {
  page.heads ??= headsOf(headersOf(exchange, { ...headers, etag: page.etag }));
  const { whole, notModified } = page.heads;
  return hasAlready(exchange, page.etag)
    ? replyReady(exchange, notModified, null)
    : replyReady(exchange, whole, page.body);
}

function headsOf(headers: Headers): Required<Cached>["heads"] {
  const whole = readyHead(200, linesOf(headers));
  // It has no body, so nothing to name the type of.
  headers.delete("content-type");
  return { whole, notModified: readyHead(304, linesOf(headers)) };
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
