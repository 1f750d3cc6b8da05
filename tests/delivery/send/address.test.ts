import { describe, expect, test } from "bun:test";
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import fc from "fast-check";
import {
  BlockedAddressError,
  blockedAddressCode,
  checkWebhookUrl,
  guardedLookup,
  isPublicAddress,
  type Resolve,
} from "../../../src/delivery/send/address.ts";
import { holds } from "../../support/property.ts";
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

/** The number of an address in the notation of the tables above. */
function numberOf(address: string): bigint {
  if (!address.includes(":")) return address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const [head = "", tail = ""] = address
    .split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  const groups = [...head, ...new Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

/** The same rules as ranges of numbers. */
const ranges = [blocks4, blocks6].map((blocks) =>
  blocks.map(([first, last]) => [numberOf(first), numberOf(last)] as const),
);
const isInside = (version: 4 | 6, number: bigint) =>
  ranges[version === 4 ? 0 : 1]?.some(([first, last]) => number >= first && number <= last) ?? false;
const carriers = [numberOf("::ffff:0:0"), numberOf("64:ff9b::")];
const isPublicNumber6 = (number: bigint) =>
  carriers.includes((number >> 32n) << 32n) ? !isInside(4, number & 0xffff_ffffn) : !isInside(6, number);

/** Any number, and those around the ends of the blocks. */
function numbers(version: 4 | 6): fc.Arbitrary<bigint> {
  const most = version === 4 ? 2n ** 32n - 1n : 2n ** 128n - 1n;
  const ends = ranges[version === 4 ? 0 : 1]?.flat() ?? [];
  const near = fc
    .tuple(fc.constantFrom(...ends), fc.integer({ min: -2, max: 2 }))
    .map(([end, step]) => end + BigInt(step))
    .filter((number) => number >= 0n && number <= most);
  return fc.oneof(fc.bigInt({ min: 0n, max: most }), near);
}

/**
 * An IPv4 address in the notations that URLs take: fewer parts, of which the last holds the rest; octal, hexadecimal.
 */
const notations4 = fc
  .record({
    number: numbers(4),
    parts: fc.integer({ min: 1, max: 4 }),
    bases: fc.array(fc.constantFrom("decimal", "octal", "hexadecimal", "HEX", "zeros"), {
      minLength: 4,
      maxLength: 4,
    }),
    isEscaped: fc.boolean(),
    dot: fc.constantFrom("", "."),
  })
  .map(({ number, parts, bases, isEscaped, dot }) => {
    const leading = Array.from({ length: parts - 1 }, (_, i) => (number >> BigInt(24 - 8 * i)) & 255n);
    const rest = number & ((1n << BigInt(32 - 8 * (parts - 1))) - 1n);
    const texts = [...leading, rest].map((part, i) => {
      if (bases[i] === "octal") return `0${part.toString(8)}`;
      if (bases[i] === "zeros") return `0000${part.toString(8)}`;
      if (bases[i] === "hexadecimal") return `0x${part.toString(16)}`;
      return bases[i] === "HEX" ? `0X${part.toString(16).toUpperCase()}` : String(part);
    });
    const host = texts.join(".");
    const first = `%${host.charCodeAt(0).toString(16)}${host.slice(1)}`;
    return { number, host: (isEscaped ? first : host) + dot };
  });

/** An IPv6 address in full, shortened anywhere, in either case, with its end as one of IPv4. */
const notations6 = fc
  .record({
    number: fc.oneof(
      numbers(6),
      fc.tuple(fc.constantFrom(...carriers), numbers(4)).map(([net, host]) => net + host),
    ),
    isPadded: fc.boolean(),
    isUpper: fc.boolean(),
    isDotted: fc.boolean(),
    gap: fc.nat({ max: 7 }),
  })
  .map(({ number, isPadded, isUpper, isDotted, gap }) => {
    const groups = Array.from({ length: 8 }, (_, i) => (number >> BigInt(112 - 16 * i)) & 0xffffn);
    const texts = groups.map((group) =>
      isPadded ? group.toString(16).padStart(4, "0") : group.toString(16),
    );
    if (isDotted) {
      const parts = [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n);
      texts.splice(6, 2, parts.join("."));
    }
    // A run of zeros from there on, where there is one.
    let end = gap;
    while (end < (isDotted ? 6 : 8) && groups[end] === 0n) end++;
    const host =
      end > gap ? `${texts.slice(0, gap).join(":")}::${texts.slice(end).join(":")}` : texts.join(":");
    return { number, host: isUpper ? host.toUpperCase() : host };
  });

describe("any address, in any notation,", () => {
  test("of IPv4 is taken only where its number lies outside of all blocks", () => {
    holds(
      fc.property(notations4, ({ number, host }) => {
        const verdict = checkWebhookUrl(`https://${host}/hook`, strict);
        expect([host, verdict.ok]).toEqual([host, !isInside(4, number)]);
      }),
      { numRuns: 1_000 },
    );
  });

  test("of IPv6 likewise, also where it carries one of IPv4, and so does a socket's", () => {
    holds(
      fc.property(notations6, ({ number, host }) => {
        const raw = `https://[${host}]/hook`;
        // Bun's URL does not know some notations with zeros before `::` and an IPv4 address: those are refused.
        const isTaken = URL.canParse(raw) && isPublicNumber6(number);
        expect([host, checkWebhookUrl(raw, strict).ok]).toEqual([host, isTaken]);
        expect([host, isPublicAddress(host)]).toEqual([host, isPublicNumber6(number)]);
      }),
      { numRuns: 1_000 },
    );
  });
});

type Answer = {
  error: NodeJS.ErrnoException | null;
  address: string | LookupAddress[];
  family: number | undefined;
};

function lookup(
  addresses: string[] | Error,
  options: { all?: boolean; allowPrivate?: boolean } = {},
): Answer {
  const { all = true, allowPrivate = false } = options;
  const resolve: Resolve = (hostname, asked, callback) => {
    expect(hostname).toBe("hook.test");
    expect(asked).toEqual({ hints: 32, all: true });
    if (addresses instanceof Error) return callback(addresses, []);
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
  };
  const answers: Answer[] = [];
  guardedLookup({ allowPrivate }, resolve)("hook.test", { hints: 32, all }, (error, address, family) => {
    answers.push({ error, address, family });
  });
  const [answer] = answers;
  if (answer === undefined || answers.length > 1) throw new Error(`answered ${answers.length} times`);
  return answer;
}

describe("guardedLookup", () => {
  test("returns all public addresses in their order", () => {
    expect(lookup(["8.8.8.8", "2606:4700:4700::1111"]).address).toEqual([
      { address: "8.8.8.8", family: 4 },
      { address: "2606:4700:4700::1111", family: 6 },
    ]);
  });

  test("returns the first when one is asked for", () => {
    const { error, address, family } = lookup(["2606:4700:4700::1111", "8.8.8.8"], { all: false });
    expect({ error, address, family }).toEqual({ error: null, address: "2606:4700:4700::1111", family: 6 });
  });

  test("fails when one of the addresses is not public", () => {
    for (const addresses of [
      ["127.0.0.1"],
      ["8.8.8.8", "10.0.0.1"],
      ["8.8.8.8", "::ffff:127.0.0.1"],
      ["0x7f.1"],
    ]) {
      for (const all of [true, false]) {
        const { error, address } = lookup(addresses, { all });
        expect(error).toBeInstanceOf(BlockedAddressError);
        expect(error?.code).toBe(blockedAddressCode);
        for (const ip of addresses) expect(error?.message).not.toContain(ip);
        expect(address).toEqual([]);
      }
    }
  });

  test("returns all addresses when private ones are allowed", () => {
    expect(lookup(["127.0.0.1"], { allowPrivate: true })).toMatchObject({
      error: null,
      address: [{ address: "127.0.0.1", family: 4 }],
    });
  });

  test("fails with ENOTFOUND for an empty answer, and with the error of the lookup", () => {
    expect(lookup([]).error?.code).toBe("ENOTFOUND");
    const failed = Object.assign(new Error("server failed"), { code: "ESERVFAIL" });
    expect(lookup(failed).error).toBe(failed);
  });
});
