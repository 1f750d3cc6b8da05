/** The module is loaded on first use, because servers without a proxy need it seldom. */
const net = () => process.getBuiltinModule("node:net");

/** Whether an address belongs to a trusted proxy. */
export type TrustedProxies = (address: string) => boolean;

/**
 * Parses addresses and networks, such as `10.0.0.0/8` and `::1`; returns null for none. Throws a `TypeError` that names
 * the first invalid entry.
 */
export function trustedProxies(entries: readonly string[]): TrustedProxies | null {
  if (entries.length === 0) return null;
  // One list for each version, because a BlockList applies IPv4 rules to IPv6.
  const ipv4 = new (net().BlockList)();
  const ipv6 = new (net().BlockList)();
  for (const entry of entries) {
    const { address, prefix } = readNetwork(entry);
    if (net().isIP(address) === 4) ipv4.addSubnet(address, prefix, "ipv4");
    else ipv6.addSubnet(address, prefix, "ipv6");
  }
  return (address) => (net().isIP(address) === 4 ? ipv4.check(address, "ipv4") : ipv6.check(address, "ipv6"));
}

function readNetwork(entry: string): { address: string; prefix: number } {
  const [, address = "", digits] = /^([0-9A-Fa-f.:]+)(?:\/([0-9]{1,3}))?$/.exec(entry) ?? [];
  const version = net().isIP(address);
  const longest = version === 4 ? 32 : 128;
  const prefix = digits === undefined ? longest : Number(digits);
  if (version !== 0 && prefix <= longest) return { address, prefix };
  throw new TypeError(`must be addresses or networks like 10.0.0.0/8, and "${entry}" is not one`);
}

/**
 * Returns the client's address: the peer's, unless the peer is a trusted proxy (null: there is none). Then
 * `X-Forwarded-For` is read from the right, where each proxy appends the address of its own peer, up to the first
 * address that is not a trusted proxy's. Everything left of that is unverified. An invalid entry ends the search at the
 * address before it.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null,
  isTrusted: TrustedProxies | null,
): string {
  // A socket of both versions shows IPv4 in IPv6 form.
  if (isTrusted === null || forwardedFor === null) return mappedIpv4(peer) ?? peer;
  let client = plainAddress(peer) ?? peer;
  let rest: string | null = forwardedFor;
  while (rest !== null && net().isIP(client) !== 0 && isTrusted(client)) {
    const comma: number = rest.lastIndexOf(",");
    const hop = plainAddress(rest.slice(comma + 1).trim());
    if (hop === null) break;
    client = hop;
    rest = comma === -1 ? null : rest.slice(0, comma);
  }
  return client;
}

/**
 * Returns the unit for limits by address: an IPv4 address, or the first 64 bits of an IPv6 address, because one caller
 * usually has a whole /64. Returns any other text unchanged.
 */
export function clientNetwork(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = mappedIpv4(address);
  if (mapped !== null) return mapped;
  let groups = 0;
  for (let colon = address.indexOf(":"); colon !== -1; colon = address.indexOf(":", colon + 1)) {
    if (address[colon + 1] === ":") break;
    if (++groups === 4) return `${address.slice(0, colon)}::/64`;
  }
  const [head = [], tail = []] = address.split("::").map((side) => side.split(":").filter(Boolean));
  const zeros = Array(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return `${[...head, ...zeros, ...tail].slice(0, 4).join(":")}::/64`;
}

/** Whether a host is a loopback address or its name, so that only this machine reaches it. */
export function isThisMachineAlone(host: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|::1|::ffff:127(\.[0-9]{1,3}){3})$/i.test(host);
}

/** The IPv4 address in an IPv4-mapped IPv6 address; null for other addresses. */
function mappedIpv4(address: string): string | null {
  return /^::ffff:([0-9.]+)$/i.exec(address)?.[1] ?? null;
}

/**
 * Returns the canonical form of an address, without a port; null for other texts. IPv4-mapped addresses become IPv4.
 */
function plainAddress(text: string): string | null {
  const withPort = /^(?:\[([^\]]*)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5})$/.exec(text);
  const address = withPort?.[1] ?? withPort?.[2] ?? text;
  const mapped = mappedIpv4(address);
  const version = net().isIP(mapped ?? address);
  if (version === 0 || address.includes("%")) return null;
  return version === 4 ? (mapped ?? address) : new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** Returns the URL of a listener on this machine. */
export function urlOf(hostname: string, port: number, isTls = false): string {
  const host = hostname === "0.0.0.0" || hostname === "::" ? "127.0.0.1" : hostname;
  return `${isTls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
