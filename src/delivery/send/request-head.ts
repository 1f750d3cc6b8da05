import { bareHost, type EgressProxy, isIP } from "./address.ts";

/** The head of a webhook's request in HTTP/1.1 (RFC 9112), checked so that no value can end its line. */

type HeaderFields = Readonly<Record<string, string>>;

/** The destination of a webhook URL. */
export interface Destination {
  readonly encrypted: boolean;
  /** The host in the form that sockets take: an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  /** Whether the host is an address and need not be resolved. */
  readonly resolved: boolean;
  /** Host and port in the form that CONNECT takes. */
  readonly authority: string;
  /** Protocol, host and port. Destinations with the same origin share connections. */
  readonly origin: string;
  /** The request's head up to the headers that differ from one request to the next. */
  readonly head: string;
}

/**
 * Returns the destination of a URL.
 *
 * @param url a URL that `checkWebhookUrl` has accepted
 * @param common the header lines of every request
 * @param proxy the egress proxy. It reads http requests, which then have the whole URL (RFC 9112, section 3.2.2) and
 *   the proxy's credentials. It does not see https requests.
 */
export function destinationOf(url: URL, common: string, proxy: EgressProxy | null): Destination {
  const host = bareHost(url);
  const encrypted = url.protocol === "https:";
  const port = url.port === "" ? (encrypted ? 443 : 80) : Number(url.port);
  const readingProxy = encrypted ? null : proxy;
  const path = `${readingProxy === null ? "" : url.origin}${url.pathname}${url.search}`;
  const credentials = readingProxy?.authorization
    ? `Proxy-Authorization: ${readingProxy.authorization}\r\n`
    : "";
  return {
    encrypted,
    host,
    port,
    resolved: isIP(host) !== 0,
    authority: `${url.hostname}:${port}`,
    origin: url.origin,
    head: `POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\n${credentials}${common}`,
  };
}

/**
 * Returns the header lines of every request.
 *
 * @throws TypeError if the user agent cannot be sent
 */
export function commonLines(userAgent: string): string {
  const lines = headerLines({
    Accept: "*/*",
    Connection: "keep-alive",
    "Content-Type": "application/json",
    "User-Agent": userAgent,
  });
  if (lines === null) throw new TypeError("The user agent must be printable.");
  return lines;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** No CR, LF or NUL, nor any other control character but tab. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that this client sets itself, or that change how a request is read. */
const reserved =
  /^(accept|host|connection|content-length|content-type|user-agent|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/i;

function headerLines(headers: HeaderFields): string | null {
  let lines = "";
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (!fieldValue.test(value)) return null;
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** Returns the head of one request; null if a header is invalid or reserved. */
export function requestHead(
  destination: Destination,
  headers: HeaderFields,
  bodyBytes: number,
): string | null {
  for (const name in headers) if (!token.test(name) || reserved.test(name)) return null;
  const lines = headerLines(headers);
  return lines === null ? null : `${destination.head}${lines}Content-Length: ${bodyBytes}\r\n\r\n`;
}
