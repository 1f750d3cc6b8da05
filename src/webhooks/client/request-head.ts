/** The bytes of a webhook's request: HTTP/1.1 (RFC 9112), checked so that no value can end its line. */

import { bareHost, isIP } from "../address.ts";
import type { EgressProxy } from "../egress-proxy.ts";

/** Where a webhook URL leads. */
export interface Destination {
  readonly encrypted: boolean;
  /** In the form of sockets: an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  /** Whether the host is an address, so that nothing has to be resolved. */
  readonly resolved: boolean;
  /** Host and port in the form of CONNECT. */
  readonly authority: string;
  /** Protocol, host and port: the same for all destinations that can share connections. */
  readonly origin: string;
}

/** @param url one that `checkWebhookUrl` has accepted */
export function destinationOf(url: URL): Destination {
  const host = bareHost(url);
  const encrypted = url.protocol === "https:";
  const port = url.port === "" ? (encrypted ? 443 : 80) : Number(url.port);
  const { origin } = url;
  return { encrypted, host, port, resolved: isIP(host) !== 0, authority: `${url.hostname}:${port}`, origin };
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** No CR, LF or NUL, nor any other control character but tab. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that the client sets itself, and those that change how the request is read. */
const reserved =
  /^(host|connection|content-length|content-type|user-agent|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/i;

/**
 * The head of one request; null if a header cannot be sent or is reserved.
 *
 * @param request.proxy of an http request, which it reads: the request then has the whole URL (RFC 9112, section 3.2.2)
 *   and the proxy's credentials; an https request is not visible to it
 */
export function requestHead(request: {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyBytes: number;
  readonly userAgent: string;
  readonly proxy: EgressProxy | null;
}): string | null {
  const { url, headers, bodyBytes, userAgent, proxy } = request;
  for (const name in headers) if (!token.test(name) || reserved.test(name)) return null;
  const readingProxy = url.protocol === "https:" ? null : proxy;
  const fields: Record<string, string> = {
    Host: url.host,
    ...(readingProxy?.authorization && { "Proxy-Authorization": readingProxy.authorization }),
    Connection: "keep-alive",
    "Content-Type": "application/json",
    "User-Agent": userAgent,
    ...headers,
    "Content-Length": String(bodyBytes),
  };
  let head = `POST ${readingProxy === null ? "" : url.origin}${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const name in fields) {
    const value = fields[name] ?? "";
    if (!fieldValue.test(value)) return null;
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}
