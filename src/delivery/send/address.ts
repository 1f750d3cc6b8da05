import type dns from "node:dns";
import { readFileSync, statSync } from "node:fs";
import type { LookupFunction } from "node:net";

/**
 * The destinations that webhooks may be sent to: only public addresses, in any notation and behind any name. A URL is
 * checked when it is set and before every attempt. The addresses that its name resolves to are checked when the
 * connection is made, and the connection goes to these addresses.
 */

/** The function of node:net, which is loaded on first use: a start does not need it. */
export const isIP = (text: string) => process.getBuiltinModule("node:net").isIP(text);

/** The policy for addresses. */
interface AddressPolicy {
  /** Whether addresses that are not public may be called; only in development. */
  readonly allowPrivate: boolean;
}

/** The longest webhook URL, in characters of its normalised form. */
const maxWebhookUrlLength = 2048;

/** The `code` of {@link BlockedAddressError}. */
export const blockedAddressCode = "ONAIR_BLOCKED_ADDRESS";

/** A host name resolves to an address that may not be called. The message does not contain the address. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
  readonly code = blockedAddressCode;

  constructor() {
    super("The host name resolves to an address that is not public.");
  }
}

/** Every block of the IANA IPv4 Special-Purpose Address Registry, and multicast. */
const reserved4 = blocks([
  "0.0.0.0/8", // this network (RFC 791)
  "10.0.0.0/8", // private (RFC 1918)
  "100.64.0.0/10", // shared, carrier-grade NAT (RFC 6598)
  "127.0.0.0/8", // loopback (RFC 1122)
  "169.254.0.0/16", // link-local, cloud metadata (RFC 3927)
  "172.16.0.0/12", // private (RFC 1918)
  "192.0.0.0/24", // protocol assignments (RFC 6890)
  "192.0.2.0/24", // documentation (RFC 5737)
  "192.31.196.0/24", // AS112 (RFC 7535): anycast, answered by the nearest node, often the own network's
  "192.52.193.0/24", // AMT (RFC 7450): anycast likewise
  "192.88.99.0/24", // 6to4 relays (RFC 7526)
  "192.168.0.0/16", // private (RFC 1918)
  "192.175.48.0/24", // AS112 (RFC 7534)
  "198.18.0.0/15", // benchmarking (RFC 2544)
  "198.51.100.0/24", // documentation (RFC 5737)
  "203.0.113.0/24", // documentation (RFC 5737)
  "224.0.0.0/4", // multicast (RFC 5771)
  "240.0.0.0/4", // reserved, broadcast (RFC 1112, RFC 919)
]);

/** The block that IANA has allocated for global unicast. All other addresses count as not public. */
const global6 = blocks(["2000::/3"]);

/** Blocks within {@link global6} that are not public. */
const reserved6 = blocks([
  "2001::/23", // protocol assignments (RFC 2928): Teredo, benchmarking, AMT, ORCHID, …
  "2001:db8::/32", // documentation (RFC 3849)
  "2002::/16", // 6to4 (RFC 3056), deprecated: carries an IPv4 address
  "2620:4f:8000::/48", // AS112 (RFC 7534)
  "3fff::/20", // documentation (RFC 9637)
]);

/** IPv6 forms of an IPv4 address. The IPv4 address in the last 32 bits is checked. */
const carriers4 = blocks([
  "::ffff:0:0/96", // IPv4-mapped (RFC 4291)
  "64:ff9b::/96", // NAT64 (RFC 6052): how a host without IPv4 sees every IPv4 address
]);

/**
 * Whether an address is public: global unicast, and in no block of the IANA special-purpose registries. False for a
 * text that is not an IP address or has a zone.
 */
export function isPublicAddress(ip: string): boolean {
  if (ip.includes("%")) return false;
  const version = isIP(ip);
  if (version === 0) return false;
  return version === 4 ? isPublic4(bits4(ip)) : isPublic6(bits6(ip));
}

function isPublic4(bits: bigint): boolean {
  return !within(bits, reserved4);
}

function isPublic6(bits: bigint): boolean {
  if (within(bits, carriers4)) return isPublic4(bits & 0xffff_ffffn);
  return within(bits, global6) && !within(bits, reserved6);
}

/** A range of addresses. */
interface Block {
  /** The prefix that all its addresses share. */
  readonly network: bigint;
  /** The number of bits behind the prefix. */
  readonly hostBits: bigint;
}

// node:net's BlockList cannot be used: it applies IPv4 rules to IPv6 addresses and the reverse (::ffff:0:0/96 then
// contains all of IPv4), and does not check embedded addresses.
function block(cidr: string): Block {
  const slash = cidr.indexOf("/");
  const base = cidr.slice(0, slash);
  const [bits, size] = base.includes(":") ? [bits6(base), 128] : [bits4(base), 32];
  const hostBits = BigInt(size - Number(cidr.slice(slash + 1)));
  return { network: bits >> hostBits, hostBits };
}

function blocks(cidrs: readonly string[]): readonly Block[] {
  return cidrs.map(block);
}

function within(bits: bigint, known: readonly Block[]): boolean {
  return known.some(({ network, hostBits }) => bits >> hostBits === network);
}

function bits4(ip: string): bigint {
  return ip.split(".").reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

function bits6(ip: string): bigint {
  const [head = "", tail] = ip.split("::");
  const front = groups6(head);
  const back = tail === undefined ? [] : groups6(tail);
  const gap = new Array<bigint>(8 - front.length - back.length).fill(0n);
  return [...front, ...gap, ...back].reduce((bits, group) => (bits << 16n) | group, 0n);
}

function groups6(text: string): bigint[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [BigInt(`0x${group}`)];
    const bits = bits4(group);
    return [bits >> 16n, bits & 0xffffn];
  });
}

/** A URL that may be called, or one sentence for its owner that says why it may not. */
type UrlVerdict = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly reason: string };

/** Names that are local by definition: RFC 6761, RFC 6762, RFC 8375, and `internal` by ICANN. */
const localName = /(^|\.)(localhost|local|internal|home\.arpa)$/;

/**
 * 1 to 253 characters in labels of 1 to 63 (RFC 1035). Underscores are allowed because they occur in practice. A final
 * dot is not, because certificates and TLS server names cannot contain it.
 */
const hostName = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;

/**
 * Checks a URL by its text alone. Names are not resolved, so an accepted name may still lead to an address that
 * {@link guardedLookup} rejects. Literal addresses are checked in every notation that URLs have (decimal, octal,
 * hexadecimal, shortened, full-width).
 */
export function checkWebhookUrl(raw: string, policy: AddressPolicy): UrlVerdict {
  const refuse = (reason: string): UrlVerdict => ({ ok: false, reason });
  const tooLong = `The URL is longer than ${maxWebhookUrlLength} characters.`;
  if (raw.length > maxWebhookUrlLength) return refuse(tooLong);

  // The parser drops tabs and newlines, replaces \ by / and adds missing slashes: a reader would see another URL.
  const scheme = /^(https?):\/\/[^/]/i.exec(raw)?.[1]?.toLowerCase();
  if (scheme === undefined || /[\s\\]|\p{Cc}/u.test(raw) || !URL.canParse(raw)) {
    return refuse(`This is not a valid ${policy.allowPrivate ? "http or https" : "https"} URL.`);
  }
  if (scheme === "http" && !policy.allowPrivate) return refuse("The URL must start with https://.");

  const url = new URL(raw);
  if (url.href.length > maxWebhookUrlLength) return refuse(tooLong);
  if (url.username !== "" || url.password !== "")
    return refuse("The URL must not contain a user name or password.");
  if (raw.includes("#")) return refuse("The URL must not contain a fragment (#).");
  if (url.port === "0") return refuse("The URL has an impossible port.");

  const host = bareHost(url);
  const isAddress = isIP(host) !== 0;
  if (!isAddress && !hostName.test(host)) return refuse("The URL has an unusable host name.");
  if (policy.allowPrivate) return { ok: true, url };
  if (isAddress && !isPublicAddress(host)) return refuse("The URL leads to an address that is not public.");
  if (localName.test(host)) return refuse("The URL leads to a host name that is not public.");
  return { ok: true, url };
}

/** Returns the host of a URL as sockets take it: without the brackets of an IPv6 address. */
export function bareHost(url: URL): string {
  return url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
}

/**
 * Returns a `lookup` option for sockets that fails with {@link BlockedAddressError} if the name resolves to any address
 * that may not be called. The connection goes to the checked addresses: the name is not resolved a second time.
 *
 * Sockets do not call it for a literal address, which {@link checkWebhookUrl} checks.
 */
export function guardedLookup(policy: AddressPolicy, resolve: Resolve = resolveBySystem): LookupFunction {
  return (hostname, options, callback) => {
    const answer: Parameters<Resolve>[2] = (error, addresses) => {
      if (error) return callback(error, []);
      const first = addresses[0];
      if (first === undefined) return callback(notFound(hostname), []);
      if (!policy.allowPrivate && !addresses.every(({ address }) => isPublicAddress(address))) {
        return callback(new BlockedAddressError(), []);
      }
      if (options.all === true) return callback(null, addresses);
      return callback(null, first.address, first.family);
    };
    resolve(hostname, { ...options, all: true }, answer);
  };
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), {
    code: "ENOTFOUND",
    syscall: "getaddrinfo",
  });
}

/** Resolves a name to all its addresses, as `dns.lookup` does. */
export type Resolve = (
  hostname: string,
  options: dns.LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]) => void,
) => void;

/** Modules of Node that are loaded on first use: a start does not need them. */
const nodeDns = () => process.getBuiltinModule("node:dns");

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

/** The egress proxy, which is needed if the operator's network allows no direct connections to the Internet. */
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
