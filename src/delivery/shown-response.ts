/** The part of a response that is shown to the receiver's developer: bounded, and without confidential values. */

import type { FailedExchange } from "../domain/deliveries.ts";
import type { WebhookHeader } from "../domain/webhook-headers.ts";
import type { ResponseHeaders, SendRequest, SendResult } from "./send/send.ts";

const longestValue = 500;

/** Cookies are secrets of the receiver and its clients. */
const neverShown = new Set(["set-cookie", "set-cookie2"]);

/** The headers that explain a failure. */
const telling = new Set(["allow", "content-type", "location", "retry-after", "www-authenticate"]);

/**
 * Returns the headers to show. Values of the same name are joined by commas.
 *
 * @param secrets the secrets of the request, which a receiver may repeat
 * @param isProxied whether an egress proxy could read the response
 */
export function shownHeaders(
  headers: ResponseHeaders,
  secrets: readonly string[],
  isProxied: boolean,
): Record<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of headers) {
    // An egress proxy may add headers of its own.
    if (neverShown.has(name) || (isProxied && !telling.has(name))) continue;
    const before = values.get(name);
    values.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(
    [...values].map(([name, value]) => [name, cut(withoutSecrets(value, secrets), longestValue)]),
  );
}

/** The most characters of names and values of the headers that are kept of an attempt. */
const keptHeaderCharacters = 1_024;

/**
 * Returns what is kept of an attempt with a response that is not 2xx; null for any other. The headers that explain a
 * failure are kept before others.
 *
 * @param own the application's own headers, which a receiver may repeat
 * @param isProxied whether an egress proxy is used
 */
export function keptExchange(
  { status, class: outcome, headers = [] }: SendResult,
  { url, headers: { "webhook-signature": signature = "" } }: SendRequest,
  own: readonly WebhookHeader[],
  isProxied: boolean,
): FailedExchange | null {
  if (status === null || outcome === "ok") return null;
  const all = Object.entries(
    shownHeaders(headers, secretsSent(signature, own), isProxied && url.startsWith("http:")),
  );
  const isTelling = ([name]: [string, string]) => telling.has(name);
  const kept: Record<string, string> = {};
  let left = keptHeaderCharacters;
  for (const [name, value] of [...all.filter(isTelling), ...all.filter((header) => !isTelling(header))]) {
    left -= name.length + value.length;
    if (left < 0) break;
    kept[name] = value;
  }
  return { signature, headers: kept };
}

/** Shorter values of headers are no secrets: replacing them would spoil the text. */
const shortestSecret = 6;

/** Returns the secrets of a request: its signatures and the values of the application's own headers. */
export function secretsSent(signature: string, headers: readonly WebhookHeader[]): string[] {
  const signatures = signature.split(" ").map((versioned) => versioned.slice(versioned.indexOf(",") + 1));
  return [...signatures.filter((bare) => bare !== ""), ...headerSecrets(headers)];
}

/**
 * Returns the forms in which a receiver may repeat the values of headers: without the scheme, such as `Basic`, and
 * escaped as in JSON.
 */
function headerSecrets(headers: readonly WebhookHeader[]): string[] {
  const parts = headers.flatMap(({ value }) => [value, value.slice(value.indexOf(" ") + 1)]);
  const forms = parts.flatMap((part) => [part, JSON.stringify(part).slice(1, -1)]);
  // Longer secrets first, because they may contain shorter ones.
  return [...new Set(forms)]
    .filter(({ length }) => length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
}

/** Replaces the secrets that a text of the receiver may repeat. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "(secret)"), text);
}

/**
 * Returns a result whose response does not repeat the values of the application's own headers.
 *
 * @param keptBytes how much of a response is kept: it may end within a value
 */
export function withoutHeaderValues(
  sent: SendResult,
  headers: readonly WebhookHeader[],
  keptBytes: number,
): SendResult {
  const { responseBody } = sent;
  if (headers.length === 0 || responseBody === "") return sent;
  const secrets = headerSecrets(headers);
  const text = withoutSecrets(responseBody, secrets);
  // The text may have been cut within a value.
  const isCut = Buffer.byteLength(responseBody) > keptBytes - longestCharacter;
  return { ...sent, responseBody: isCut ? withoutBeginnings(text, secrets) : text };
}

/** The longest character of UTF-8, in bytes. */
const longestCharacter = 4;

/** Removes the longest beginning of a secret with which a text ends. */
function withoutBeginnings(text: string, secrets: readonly string[]): string {
  const most = (secret: string): number => {
    for (let length = secret.length - 1; length > 0; length--)
      if (text.endsWith(secret.slice(0, length))) return length;
    return 0;
  };
  return text.slice(0, text.length - Math.max(0, ...secrets.map(most)));
}

/** Returns the first `most` characters of a text, with "…" if it is longer. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}
