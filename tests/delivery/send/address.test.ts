import { describe, expect, test } from "bun:test";
import { isIP } from "node:net";
import { checkWebhookUrl, isPublicAddress } from "../../../src/delivery/send/address.ts";
import { blocks4, blocks6 } from "../fixtures/address-blocks.ts";

const strict = { allowPrivate: false };
const lax = { allowPrivate: true };

/** The words of a text. */
const words = (text: string) => text.trim().split(/\s+/);

const publicAddresses = words(`
  1.1.1.1 8.8.8.8 93.184.216.34 172.217.16.46 192.0.32.10 198.41.0.4
  2001:4860:4860::8888 2606:4700:4700::1111 2A00:1450:4001:82A::200E 2620:fe::fe`);

/** The IPv4 address inside is the one that counts. */
const carriedPublicAddresses = words(`
  ::ffff:8.8.8.8 ::ffff:808:808 0:0:0:0:0:ffff:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b::808:808`);

const otherAddresses = [
  ...words(`
    10.1.2.3 127.0.0.1 127.8.9.10 169.254.169.254 192.168.1.1 255.255.255.255 ::1 0:0:0:0:0:0:0:1
    ::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:10.0.0.1 0000:0000:0000:0000:0000:ffff:c0a8:0101
    ::ffff:169.254.169.254 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe`),
  // NAT64 prefixes of one's own (RFC 8215), discard-only (RFC 6666), its neighbour (RFC 9780), SRv6 (RFC 9602).
  ...words(`
    64:ff9b:1::8.8.8.8 100::1 100:0:0:1::1 5f00::1`),
  // IPv4-compatible and IPv4-translated, whatever they hold.
  ...words(`
    ::127.0.0.1 ::8.8.8.8 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8`),
  // Teredo, benchmarking, ORCHID, 6to4 around 127.0.0.1 and around 8.8.8.8.
  ...words(`
    2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:20::1 2002:7f00:1:: 2002:808:808::`),
  // Unique local, link-local with and without a zone, site-local, multicast.
  ...words(`
    fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 2606:4700:4700::1111%eth0 fec0::1 ff02::1`),
  // Not addresses as sockets write them.
  ...words(`
    localhost 0x7f.1 127.1 2130706433 0177.0.0.1 8.8.8.8:443 8.8.8 8.8.8.256 [2606:4700:4700::1111]
    2606:4700:4700::1111::1`),
  "",
  "8.8.8.8 ",
];

describe("isPublicAddress", () => {
  test.each([...blocks4, ...blocks6])(
    "%s to %s is not public, the addresses beside it are",
    (first, last, before, after) => {
      expect(isPublicAddress(first)).toBe(false);
      expect(isPublicAddress(last)).toBe(false);
      if (before !== null) expect(isPublicAddress(before)).toBe(true);
      if (after !== null) expect(isPublicAddress(after)).toBe(true);
    },
  );

  test.each(blocks4)("%s to %s is not inside IPv6 either", (first, last, before, after) => {
    for (const carrier of ["::ffff:", "64:ff9b::"]) {
      expect(isPublicAddress(carrier + first)).toBe(false);
      expect(isPublicAddress(carrier + last)).toBe(false);
      if (before !== null) expect(isPublicAddress(carrier + before)).toBe(true);
      if (after !== null) expect(isPublicAddress(carrier + after)).toBe(true);
    }
  });

  test.each([...publicAddresses, ...carriedPublicAddresses])("%s is", (ip) => {
    expect(isPublicAddress(ip)).toBe(true);
  });

  test.each(otherAddresses)("%p is not", (ip) => {
    expect(isPublicAddress(ip)).toBe(false);
  });
});

function reasonFor(raw: string, policy = strict): string {
  const verdict = checkWebhookUrl(raw, policy);
  return verdict.ok ? "" : verdict.reason;
}

describe("checkWebhookUrl", () => {
  test.each(
    words(`
      https://example.com https://example.com/ HTTPS://Example.COM/Hook
      https://example.com:8443/hook?token=a%20b&c=d https://münchen.example/straße
      https://_hooks.example.com/ https://8.8.8.8/ https://0x8.0x8.0x8.0x8/ https://134744072/
      https://[2606:4700:4700::1111]:8443/ https://[::ffff:8.8.8.8]/ https://localhost.example.com/
      https://mylocal/ https://internal.example/`),
  )("accepts %s", (raw) => {
    const verdict = checkWebhookUrl(raw, strict);
    expect(verdict).toEqual({ ok: true, url: new URL(raw) });
  });

  test.each(
    words(`
      https://127.0.0.1/ https://127.0.0.1./ https://127.1/ https://127.0.1/ https://0x7f.0.0.1/
      https://0x7f000001/ https://0X7F.1/ https://0177.0.0.1/ https://017700000001/
      https://00000000177.0.0.01/ https://2130706433/ https://0/ https://%31%32%37.0.0.1/
      https://１２７.0.0.1/ https://127。0。0。1/ https://①②⑦.⓪.⓪.①/ https://0xa9fea9fe/ https://2852039166/
      https://0251.0376.0251.0376/ https://169.254.43518/ https://10.1/ https://012.0.0.1/
      https://3232235777/ https://0xc0.0xa8.1.1/ https://4294967295/ https://[::1]/ https://[::]/
      https://[0:0:0:0:0:0:0:1]/ https://[::ffff:127.0.0.1]/ https://[::ffff:7f00:1]/
      https://[::127.0.0.1]/ https://[64:ff9b::10.0.0.1]/ https://[2002:7f00:1::]/
      https://[fd00::1]:8443/ https://[fe80::1]/`),
  )("refuses %s: not a public address", (raw) => {
    expect(reasonFor(raw)).toBe("The URL leads to an address that is not public.");
    expect(checkWebhookUrl(raw, lax).ok).toBe(true);
  });

  test.each(
    words(`
      https://localhost/ https://LOCALHOST:8443/ https://ｌocalhost/ https://app.localhost/
      https://printer.local/ https://metadata.google.internal/ https://router.home.arpa/`),
  )("refuses %s: not a public name", (raw) => {
    expect(reasonFor(raw)).toBe("The URL leads to a host name that is not public.");
    expect(checkWebhookUrl(raw, lax).ok).toBe(true);
  });

  test.each([
    "",
    "example.com",
    "//example.com/",
    "https:",
    "https://",
    "https:///example.com/",
    "https:example.com",
    "https:\\\\example.com\\",
    "https://example.com\\@127.0.0.1/",
    " https://example.com/",
    "https://example.com/ ",
    "https://exa\tmple.com/",
    "https://example.com/\n",
    "https://example.com/\u0000",
    "https://exa mple.com/",
    "https://256.1.1.1/",
    "https://1.2.3.4.5/",
    "https://example.com:99999/",
    "https://[::1",
    "https://[fe80::1%25eth0]/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "data:text/plain,x",
    "javascript:alert(1)",
    "gopher://127.0.0.1:6379/",
  ])("refuses %p: not a URL to call", (raw) => {
    expect(reasonFor(raw)).toBe("This is not a valid https URL.");
    expect(reasonFor(raw, lax)).toBe("This is not a valid http or https URL.");
  });

  test.each<[string, string]>([
    ["https://user@example.com/", "user name"],
    ["https://user:password@example.com/", "user name"],
    ["https://:password@example.com/", "user name"],
    ["https://example.com@127.0.0.1/", "user name"],
    ["https://example.com/#part", "fragment"],
    ["https://example.com/#", "fragment"],
    ["https://example.com:0/", "port"],
    ["https://../", "host name"],
    ["https://example.com./", "host name"],
    ["https://localhost./", "host name"],
    ["https://a..example.com/", "host name"],
    [`https://${"a".repeat(64)}.example/`, "host name"],
    [`https://${"a.".repeat(127)}example/`, "host name"],
    [`https://example.com/${"a".repeat(2029)}`, "2048"],
    [`https://example.com/${"é".repeat(400)}`, "2048"],
  ])("refuses %s, naming the %s", (raw, what) => {
    expect(reasonFor(raw)).toContain(what);
    expect(reasonFor(raw, lax)).toContain(what);
  });

  test("takes 2048 characters", () => {
    expect(checkWebhookUrl(`https://example.com/${"a".repeat(2028)}`, strict).ok).toBe(true);
  });

  test("http is for private use only", () => {
    expect(reasonFor("http://example.com/")).toBe("The URL must start with https://.");
    expect(checkWebhookUrl("http://127.0.0.1:3000/hook", lax)).toMatchObject({ ok: true });
  });

  test("an accepted URL with an address as host has a public one", () => {
    for (const ip of [...publicAddresses, ...carriedPublicAddresses, ...otherAddresses]) {
      const verdict = checkWebhookUrl(`https://${ip.includes(":") ? `[${ip}]` : ip}/`, strict);
      if (isIP(ip) !== 0) expect({ ip, ok: verdict.ok }).toEqual({ ip, ok: isPublicAddress(ip) });
    }
  });
});
