import { describe, expect, test } from "bun:test";
import { clientAddress, clientNetwork, trustedProxies } from "../../src/runtime/client-address.ts";

const trusted = trustedProxies(["10.0.0.0/8", "192.168.1.7", "fd00::/8", "::1"]);

describe("the client's address", () => {
  test.each<[what: string, peer: string, header: string | null, client: string]>([
    ["a direct caller", "203.0.113.9", null, "203.0.113.9"],
    ["a direct caller who forges the header", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["a direct caller who claims to be a proxy", "203.0.113.9", "10.0.0.1", "203.0.113.9"],
    ["a proxy that says nothing", "10.1.2.3", null, "10.1.2.3"],
    ["a proxy that says nothing in many words", "10.1.2.3", "", "10.1.2.3"],
    ["a caller through a proxy", "10.1.2.3", "203.0.113.9", "203.0.113.9"],
    ["a caller through two proxies", "10.1.2.3", "203.0.113.9, 192.168.1.7", "203.0.113.9"],
    ["a caller who forged what stands before", "10.1.2.3", "198.51.100.1, 203.0.113.9", "203.0.113.9"],
    ["a caller who forged a trusted address", "10.1.2.3", "10.9.9.9, 203.0.113.9", "203.0.113.9"],
    [
      "a client that forged a chain of addresses",
      "10.1.2.3",
      "198.51.100.1,10.9.9.9,203.0.113.9,10.0.0.2",
      "203.0.113.9",
    ],
    ["a caller beside a trusted address", "10.1.2.3", "192.168.1.8", "192.168.1.8"],
    ["a proxy's own request", "10.1.2.3", "10.0.0.5, 10.0.0.2", "10.0.0.5"],
    ["nonsense before a proxy", "10.1.2.3", "203.0.113.9, unknown, 10.0.0.2", "10.0.0.2"],
    ["nonsense alone", "10.1.2.3", "<script>", "10.1.2.3"],
    ["an obfuscated name (RFC 7239)", "10.1.2.3", "_hidden", "10.1.2.3"],
    ["an octal address", "10.1.2.3", "0203.0.113.9", "10.1.2.3"],
    ["a number", "10.1.2.3", "3405803785", "10.1.2.3"],
    ["a zone", "10.1.2.3", "fe80::1%eth0", "10.1.2.3"],
    ["empty parts", "10.1.2.3", "203.0.113.9, ,", "10.1.2.3"],
    ["IPv4 with a port", "10.1.2.3", "203.0.113.9:1234", "203.0.113.9"],
    ["IPv6", "10.1.2.3", "2001:db8::1", "2001:db8::1"],
    ["IPv6 in another spelling", "10.1.2.3", "2001:0DB8:0:0::0001", "2001:db8::1"],
    ["IPv6 in brackets", "10.1.2.3", "[2001:db8::1]", "2001:db8::1"],
    ["IPv6 with a port", "10.1.2.3", "[2001:db8::1]:443", "2001:db8::1"],
    ["an IPv6 proxy", "fd12::1", "203.0.113.9", "203.0.113.9"],
    ["the loopback proxy", "::1", "203.0.113.9", "203.0.113.9"],
    ["a proxy on a socket of both versions", "::ffff:10.1.2.3", "203.0.113.9", "203.0.113.9"],
    ["a caller on a socket of both versions", "::ffff:203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["IPv4 in IPv6", "10.1.2.3", "::ffff:203.0.113.9", "203.0.113.9"],
    ["a proxy in IPv6 form in the chain", "10.1.2.3", "203.0.113.9, ::ffff:10.0.0.2", "203.0.113.9"],
    ["an unknown peer", "", "203.0.113.9", ""],
  ])("%s: %j with %j is %j", (_, peer, header, client) => {
    expect(clientAddress(peer, header, trusted)).toBe(client);
  });

  test("without trusted proxies the header is ignored", () => {
    expect(clientAddress("10.1.2.3", "203.0.113.9", trustedProxies([]))).toBe("10.1.2.3");
  });
});

test.each([
  "proxy.local",
  "10.0.0.0/33",
  "::/129",
  "10.0.0/8",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "fe80::1%eth0",
  "10.0.0.0/-1",
])("%s is not a network", (entry) => {
  expect(() => trustedProxies([entry])).toThrow(TypeError);
});

test.each<[string, string, boolean]>([
  ["0.0.0.0/0", "203.0.113.9", true],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["::/0", "2001:db8::1", true],
  ["::/0", "203.0.113.9", false],
  ["10.0.0.0/9", "10.127.255.255", true],
  ["10.0.0.0/9", "10.128.0.0", false],
])("%s contains %s: %p", (network, address, holds) => {
  expect(trustedProxies([network])?.(address)).toBe(holds);
});

test.each<[what: string, address: string, network: string]>([
  ["an IPv4 address is counted alone", "203.0.113.9", "203.0.113.9"],
  ["so it is on a socket of both versions", "::ffff:203.0.113.9", "203.0.113.9"],
  ["an IPv6 address with its /64", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["the last of the same /64", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"],
  ["the next /64 is another one", "2001:db8:1:3::1", "2001:db8:1:3::/64"],
  ["zeros left out behind the network", "2001:db8:1:2::", "2001:db8:1:2::/64"],
  ["zeros left out across its end", "2001:db8::1", "2001:db8:0:0::/64"],
  ["zeros left out inside of it", "2001:0:0:2::1", "2001:0:0:2::/64"],
  ["zeros left out inside of it, by two colons", "2001::2:3:4:5:6", "2001:0:0:2::/64"],
  ["zeros left out at its beginning", "::2:3:4:5:6:7", "0:0:2:3::/64"],
  ["loopback", "::1", "0:0:0:0::/64"],
  ["an address of the link, with its zone", "fe80::1%eth0", "fe80:0:0:0::/64"],
  ["an unknown peer", "", ""],
])("the network for rate limits of %s", (_, address, network) => {
  expect(clientNetwork(address)).toBe(network);
});
