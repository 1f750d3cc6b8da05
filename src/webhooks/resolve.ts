import type dns from "node:dns";
import { readFileSync, statSync } from "node:fs";

/** Resolves a name to all its addresses, as `dns.lookup` does. */
export type Resolve = (
  hostname: string,
  options: dns.LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]) => void,
) => void;

/** Both are loaded on first use: a start does not need them. */
const nodeDns = () => process.getBuiltinModule("node:dns");
const isIP = (text: string) => process.getBuiltinModule("node:net").isIP(text);

const serversFile = "/etc/resolv.conf";

/** The time of the last change of the file whose servers are in use; null before the first lookup. */
let serversFrom: number | null = null;

/**
 * Resolves by the system's hosts file and name servers. On Linux this runs in the event loop, by c-ares: `dns.lookup`
 * blocks a thread of the pool in which Bun also reads files, until the name server responds. Names of one application
 * whose server never responds would hold up the names of all others, and files.
 */
export const resolveBySystem: Resolve = (hostname, options, callback) => {
  if (process.platform !== "linux") return nodeDns().lookup(hostname, options, callback);
  takeChangedServers();
  Bun.dns.lookup(hostname, { backend: "c-ares" }).then(
    (addresses) => callback(null, addresses),
    (error) => callback(withPlainCode(error), []),
  );
};

/**
 * Takes the name servers of the file when it has changed: c-ares reads it only once. An unreadable file changes
 * nothing.
 */
function takeChangedServers(): void {
  try {
    const changedAt = statSync(serversFile).mtimeMs;
    if (serversFrom !== null && serversFrom !== changedAt) {
      const lines = readFileSync(serversFile, "utf8").matchAll(/^\s*nameserver\s+(\S+)/gm);
      const servers = Array.from(lines, ([, server = ""]) => server).filter((server) => isIP(server) !== 0);
      if (servers.length > 0) nodeDns().setServers(servers);
    }
    serversFrom = changedAt;
  } catch {}
}

/** Bun's codes have a prefix that those of Node.js have not: `DNS_ENOTFOUND`. */
function withPlainCode(error: NodeJS.ErrnoException): NodeJS.ErrnoException {
  error.code = error.code?.replace(/^DNS_/, "");
  return error;
}
