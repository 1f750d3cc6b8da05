/** The setting of the egress proxy: the way out of the operator's network where there is no direct one. */

import { bareHost } from "./address.ts";

export interface EgressProxy {
  readonly encrypted: boolean;
  readonly host: string;
  readonly port: number;
  /** The value of `Proxy-Authorization`, which is secret; null where the URL has no credentials. */
  readonly authorization: string | null;
}

/**
 * Takes apart `http://user:pass@host:port`, user and password percent-encoded where they have to be.
 *
 * @throws TypeError that states the form, and does not repeat the text, which may hold a password
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

/** `user:password` (RFC 7617); "" where there are none, undefined where they cannot be read. */
function credentialsOf({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return "";
  try {
    const user = decodeURIComponent(username);
    return user.includes(":") ? undefined : `${user}:${decodeURIComponent(password)}`;
  } catch {
    return undefined;
  }
}
