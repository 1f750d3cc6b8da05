import { type Exchange, type ExtraHeaders, headersOf, reply, replyReady } from "../exchange.ts";

/** The bytes of an answer, ready to be sent: in a `Blob`, which is not copied for each answer. */
export interface Cached {
  readonly body: Blob;
  readonly etag: string;
  /** Of its answers, kept from the first one on. */
  headers?: Headers;
}

export function cached(body: Uint8Array<ArrayBuffer>): Cached {
  return { body: new Blob([body]), etag: `"${Bun.hash(body).toString(36)}"` };
}

/**
 * Answers with bytes that the client may have already: then 304. `headers` are the same for all answers with them, and
 * so is whether they have a budget.
 */
export function replyCached(
  exchange: Exchange,
  request: Request,
  page: Cached,
  headers: ExtraHeaders,
): Response {
  const { body, etag } = page;
  const known = request.headers.get("if-none-match");
  if (known !== null && matches(known, etag)) return reply(exchange, 304, null, { ...headers, etag });
  page.headers ??= headersOf(exchange, { ...headers, etag });
  return replyReady(exchange, 200, body, page.headers);
}

/** Weak comparison of If-None-Match (RFC 9110, section 13.1.2). */
function matches(header: string, etag: string): boolean {
  return header.split(",").some((part) => {
    const tag = part.trim();
    return tag === "*" || tag === etag || tag === `W/${etag}`;
  });
}
