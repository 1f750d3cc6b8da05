/** The egress proxy: a way out of the operator's network for those who have no other. */

import type { Socket } from "node:net";
import { bareHost } from "./address.ts";
import { Answer } from "./answer.ts";
import { type Failure, proxyFailure } from "./outcome.ts";

export interface EgressProxy {
  readonly encrypted: boolean;
  readonly host: string;
  readonly port: number;
  /** The value of `Proxy-Authorization`; null for a proxy that asks for none. Secret. */
  readonly authorization: string | null;
}

/**
 * Takes apart `http://user:pass@host:port`, user and password percent-encoded where they have to be.
 *
 * @throws TypeError that says what it must be, without repeating it, for it may hold a password
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

/**
 * Asks the proxy at the other end of `socket` for a tunnel to `authority` (RFC 9110, section 9.3.6). `done` is
 * called at most once: with null when the tunnel stands. It does not listen for errors and closing.
 */
export function openTunnel(
  socket: Socket,
  { authorization }: EgressProxy,
  authority: string,
  done: (failure: Failure | null) => void,
): void {
  const answer = new Answer({ maxBodyBytes: 0, keepBytes: 0 }, { tunnel: true });
  const read = (chunk: Buffer): void => {
    const surplus = answer.feed(chunk) < chunk.length;
    if (answer.status === null && answer.fault === null) return;
    socket.off("data", read);
    const stands = answer.status !== null && answer.status < 300;
    // A receiver does not speak first in TLS.
    done(stands && !surplus ? null : proxyFailure(stands ? null : answer.status));
  };
  socket.on("data", read);
  const credentials = authorization === null ? "" : `Proxy-Authorization: ${authorization}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`, "latin1");
}
