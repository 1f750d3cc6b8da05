/** The part of a response that is shown to the receiver's developer: bounded, and without confidential values. */

import type { ResponseHeaders } from "./client/sender.ts";

const longestValue = 500;

/** Cookies are secrets of the receiver and its clients. */
const neverShown = new Set(["set-cookie", "set-cookie2"]);

/** The only headers shown if an egress proxy could read the response, because it may have added headers of its own. */
const shownBehindProxy = new Set(["allow", "content-type", "location", "retry-after", "www-authenticate"]);

/**
 * Returns the headers to show. Values of the same name are joined by commas.
 *
 * @param signature the value of `webhook-signature` in the request, which a receiver may repeat
 * @param isProxied whether an egress proxy could read the response
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

/** Replaces the signatures that a text of the receiver may repeat. */
export function withoutSignature(text: string, signature: string): string {
  let rest = text;
  for (const one of signature.split(" ")) {
    const value = one.slice(one.indexOf(",") + 1);
    if (value !== "") rest = rest.replaceAll(value, "(signature)");
  }
  return rest;
}

/** Returns the first `most` characters of a text, with "…" if it is longer. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}
