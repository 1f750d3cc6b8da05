import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { checkWebhookUrl, isPublicAddress } from "../../../src/delivery/send/address.ts";
import { holds } from "../../support/property.ts";
import { blocks4, blocks6 } from "../fixtures/address-blocks.ts";

const strict = { allowPrivate: false };

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
      { numRuns: 3_000 },
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
      { numRuns: 3_000 },
    );
  });
});
