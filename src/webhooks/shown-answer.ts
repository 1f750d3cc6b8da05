/** What is shown of an answer to the receiver's developer: bounded, and without what is confidential. */

import type { ResponseHeaders } from "./client/sender.ts";

const longestValue = 500;

/** Cookies are secrets of the receiver and its clients. */
const neverShown = new Set(["set-cookie", "set-cookie2"]);

/** An egress proxy adds headers of its own to an answer that it can read: then only these are shown. */
const shownBehindProxy = new Set(["allow", "content-type", "location", "retry-after", "www-authenticate"]);

/**
 * The headers to show. Values of one name are joined by commas.
 *
 * @param signature the value of `webhook-signature` in the request, which a receiver may repeat
 * @param isProxied whether an egress proxy could read the answer
 */
export function shownHeaders(
  headers: ResponseHeaders,
  signature: string,
  isProxied: boolean,
): Record<string, string> {
  const shown = new Map<string, string>();
  for (const [name, value] of headers) {
    if (neverShown.has(name) || (isProxied && !shownBehindProxy.has(name))) continue;
    const before = shown.get(name);
    shown.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(
    [...shown].map(([name, value]) => [name, cut(withoutSignature(value, signature), longestValue)]),
  );
}

/** A text of the receiver without the signatures that it may repeat. */
export function withoutSignature(text: string, signature: string): string {
  let rest = text;
  for (const one of signature.split(" ")) {
    const value = one.slice(one.indexOf(",") + 1);
    if (value !== "") rest = rest.replaceAll(value, "(signature)");
  }
  return rest;
}

/** A text of at most `most` characters. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}
