/** Tunnels through the egress proxy to https receivers. */

import type { Socket } from "node:net";
import type { EgressProxy } from "../egress-proxy.ts";
import { proxyFailure, type SendFailure } from "./failures.ts";
import { ResponseParser } from "./response-parser.ts";

/**
 * Requests a tunnel to `authority` from the proxy at the other end of `socket` (RFC 9110, section 9.3.6). `done` is
 * called at most once, with null when the tunnel is open. The caller must handle errors and closing of the socket.
 */
export function openTunnel(
  socket: Socket,
  { authorization }: EgressProxy,
  authority: string,
  done: (failure: SendFailure | null) => void,
): void {
  const response = new ResponseParser({ maxBodyBytes: 0, keepBytes: 0 }, { tunnel: true });
  const read = (chunk: Buffer): void => {
    const hasSurplus = response.feed(chunk) < chunk.length;
    if (response.status === null && response.fault === null) return;
    socket.off("data", read);
    const isOpen = response.status !== null && response.status < 300;
    // Bytes after the head are an error, because in TLS the receiver does not send first.
    done(isOpen && !hasSurplus ? null : proxyFailure(isOpen ? null : response.status));
  };
  socket.on("data", read);
  const credentials = authorization === null ? "" : `Proxy-Authorization: ${authorization}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`, "latin1");
}
