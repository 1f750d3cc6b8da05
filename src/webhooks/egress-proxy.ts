/** The egress proxy, which is needed if the operator's network allows no direct connections to the Internet. */

import { bareHost } from "./address.ts";

export interface EgressProxy {
  readonly encrypted: boolean;
  readonly host: string;
  readonly port: number;
  /** The value of `Proxy-Authorization`, which is secret; null if the URL has no credentials. */
  readonly authorization: string | null;
}

/**
 * Parses `http://user:pass@host:port`, with user and password percent-encoded if needed.
 *
 * @throws TypeError that states the form. It does not repeat the text, which may contain a password.
 */
export function proxyOf(text: string): EgressProxy {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isProxy =
    url &&
    /^https?:$/.test(url.protocol) &&
    url.port !== "0" &&
    url.pathname === "/" &&
    !url.search &&
    !url.hash;
  const credentials = isProxy ? credentialsOf(url) : undefined;
  if (!isProxy || credentials === undefined) {
    throw new TypeError("must be an http or https URL without path, like http://user:password@proxy:3128");
  }
  const encrypted = url.protocol === "https:";
  return {
    encrypted,
    host: bareHost(url),
    port: url.port === "" ? (encrypted ? 443 : 80) : Number(url.port),
    authorization: credentials === "" ? null : `Basic ${Buffer.from(credentials).toString("base64")}`,
  };
}

/** Returns `user:password` (RFC 7617); "" if there are none, undefined if they are malformed. */
function credentialsOf({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return "";
  try {
    const user = decodeURIComponent(username);
    return user.includes(":") ? undefined : `${user}:${decodeURIComponent(password)}`;
  } catch {
    return undefined;
  }
}
