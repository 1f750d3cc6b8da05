/** Loaded at its first use, because that takes some 5 ms and most servers have no proxy in front. */
const net = () => process.getBuiltinModule("node:net");

/** Whether an address is that of a proxy whose word is taken for whom it speaks for. */
export type TrustedProxies = (address: string) => boolean;

/**
 * Reads addresses and networks, such as `10.0.0.0/8` and `::1`. Throws a `TypeError` that names the first entry that is
 * neither.
 */
export function trustedProxies(entries: readonly string[]): TrustedProxies {
  if (entries.length === 0) return () => false;
  // One list for each version, because a BlockList takes IPv4 rules for IPv6.
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
 * The address of whoever sent a request: the peer itself, unless that is a trusted proxy. Then `X-Forwarded-For` tells,
 * read from its right-hand end, where each proxy adds whom it heard from: the first address there that is not a trusted
 * proxy's. What stands to the left of it is anybody's invention. Where something else than an address turns up, it is
 * the last one before.
 */
export function clientAddress(peer: string, forwardedFor: string | null, isTrusted: TrustedProxies): string {
  let client = plainAddress(peer) ?? peer;
  let rest = forwardedFor;
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
 * What limits by address count: an IPv4 address by itself, and IPv6 by its first 64 bits, because a single caller has
 * all of a /64 and could else take another address for each request. Anything else is as it was given.
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

/** Whether only this machine reaches what listens at a host: an address of loopback, or its name. */
export function isThisMachineAlone(host: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|::1|::ffff:127(\.[0-9]{1,3}){3})$/i.test(host);
}

/** The address at the other end of a connection, without the IPv6 form that a socket of both versions gives IPv4. */
export function peerAddress(address: string): string {
  return mappedIpv4(address) ?? address;
}

/** IPv4 in an IPv6 address is IPv4: so it comes on a socket of both versions. */
function mappedIpv4(address: string): string | null {
  return /^::ffff:([0-9.]+)$/i.exec(address)?.[1] ?? null;
}

/**
 * Whose connection it is, by the peer's address, as `clientNetwork` counts it. null: of somebody who speaks for many,
 * which is a trusted proxy and whatever runs on this machine.
 */
export function connectionClient(peer: string, isTrusted: TrustedProxies | null): string | null {
  const address = mappedIpv4(peer) ?? peer;
  if (/^(?:127\.|::1$)/.test(address) || isTrusted?.(address)) return null;
  return clientNetwork(address);
}

/** The one spelling of an address, without a port; null for anything else. IPv4 in an IPv6 address is IPv4. */
function plainAddress(text: string): string | null {
  const withPort = /^(?:\[([^\]]*)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5})$/.exec(text);
  const address = withPort?.[1] ?? withPort?.[2] ?? text;
  const mapped = mappedIpv4(address);
  const version = net().isIP(mapped ?? address);
  if (version === 0 || address.includes("%")) return null;
  return version === 4 ? (mapped ?? address) : new URL(`http://[${address}]`).hostname.slice(1, -1);
}
