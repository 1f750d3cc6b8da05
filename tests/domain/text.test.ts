import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { codePoints, fold, plainLetters } from "../../src/domain/text.ts";
import { parseScopes } from "../../src/domain/tokens.ts";
import { parseJson } from "../../src/domain/validation/json.ts";
import { differentNames, foldedNames } from "../support/folded-names.ts";
import { holds } from "../support/property.ts";

describe("fold", () => {
  test.each(foldedNames)("%s: %s equals %s", (_, name, typed) => {
    expect(fold(name)).toContain(fold(typed));
    expect(fold(name.toUpperCase())).toBe(fold(name));
    expect(fold(name.normalize("NFD"))).toBe(fold(name));
    expect(fold(name.normalize("NFC"))).toBe(fold(name));
  });

  test.each(differentNames)("%s does not contain %s", (name, typed) => {
    expect(fold(name)).not.toContain(fold(typed));
  });

  test.each([
    ["xQcOW", "xqcow"],
    ["풍월량", "풍월량"],
    ["がぎ", "かき"],
    ["กิน", "กน"],
    ["ที่", "ท"],
    ["", ""],
    ["\u0301\u0302", "\u0301\u0302"],
    ["Łódź Straße 풍월 ＯＫ", "lodz strasse 풍월 ok"],
  ])("%s is %s", (text, folded) => {
    expect(fold(text)).toBe(folded);
  });

  test("removes every mark, and makes no text empty", () => {
    const wrong: string[] = [];
    // The planes between them have no characters, or private ones.
    const last = 0x34000;
    for (let code = 0; code < 0xe0200; code = code === last ? 0xe0000 : code + 1) {
      const character = String.fromCodePoint(code);
      if (/^\p{Cn}$/u.test(character)) continue;
      const folded = fold(`x${character}`);
      const isMark = /^\p{M}$/u.test(character);
      if (/\p{M}/u.test(folded) || (isMark && folded !== "x") || fold(character) === "")
        wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  test("equates what the root collation of Unicode equates with plain letters", () => {
    const collator = new Intl.Collator("und", { sensitivity: "base" });
    const plain = [..."abcdefghijklmnopqrstuvwxyz", "ae", "oe", "ss", "ao", "aa", "au"];
    const wrong: string[] = [];
    // Letters of Latin up to its additions for phonetics, which only linguists use.
    for (const letter of lettersOf([0xc0, 0x24f], [0x1e00, 0x1eff], [0xff21, 0xff5a], [0xfb00, 0xfb06])) {
      const equal = plain.find((one) => collator.compare(one, letter) === 0);
      if (equal && fold(letter) !== equal) wrong.push(`${letter} ${equal} ${fold(letter)}`);
    }
    // NFKD keeps the dot of Catalan, which is also written alone.
    expect(wrong).toEqual(["Ŀ l l·", "ŀ l l·"]);
  });

  test("takes time that is linear in the marks of one letter", () => {
    const marks = 50_000;
    const began = performance.now();
    expect(fold(`a${"\u0301".repeat(marks)}${"\u0323".repeat(marks)}`)).toBe("a");
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  test("is that of each code point alone, whatever was folded before", () => {
    const character = fc.oneof(
      fc.constantFrom(...foldedNames.flatMap(([, name, typed]) => [...name, ...typed])),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    );
    const text = fc.array(character, { maxLength: 30 }).map((all) => all.join(""));
    holds(
      fc.property(text, (text) => {
        expect(fold(text)).toBe(slowFold(text));
      }),
      { numRuns: 1_000 },
    );
  });
});

function lettersOf(...ranges: readonly (readonly [number, number])[]): string[] {
  const codes = ranges.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, i) => first + i),
  );
  return codes.map((code) => String.fromCodePoint(code)).filter((one) => /\p{L}/u.test(one));
}

/** The rules one after the other on the whole text, without shortcuts and memory. */
function slowFold(text: string): string {
  const parts = text.normalize("NFC").split(/([\uac00-\ud7a3])/);
  const folded = parts.map((part, i) => (i % 2 === 1 ? part : slowlyFolded(part))).join("");
  return folded || text;
}

function slowlyFolded(text: string): string {
  const characters = Array.from(text.replaceAll("\u00b4", "'"), (one) =>
    one.normalize("NFKD").replaceAll(/\p{M}/gu, "").normalize("NFC"),
  );
  return Array.from(characters.join(""), (one) => {
    const lower = one.toUpperCase().toLowerCase();
    const found = Object.entries(plainLetters).find(([, forms]) => [...forms].includes(lower));
    return found ? found[0] : lower === "ς" ? "σ" : lower;
  }).join("");
}

test("codePoints counts code points, not UTF-16 units", () => {
  expect([codePoints("abc"), codePoints("😀😀"), codePoints("")]).toEqual([3, 2, 0]);
});

describe("parseJson", () => {
  const parse = (text: string | Uint8Array) => parseJson(typeof text === "string" ? Buffer.from(text) : text);
  test("reads JSON whose strings hold brackets, quotes and backslashes", () => {
    const value = { a: ["[{[{", '"\\"]}', "\\"], b: { c: null } };
    expect(parse(JSON.stringify(value))).toEqual(value);
  });
  test.each<[string, string | Uint8Array, string]>([
    ["nothing", "", "is empty"],
    ["half", '{"a"', "not valid JSON"],
    ["two values", "{} {}", "not valid JSON"],
    ["no UTF-8", new Uint8Array([0x22, 0xc3, 0x22]), "not valid UTF-8"],
    ["65 levels", "[".repeat(65) + "]".repeat(65), "nested more than 64 deep"],
    ["a million levels", "[".repeat(1_000_000), "nested more than 64 deep"],
  ])("refuses %s", (_, text, message) => {
    expect(() => parse(text)).toThrow(message);
  });
  test("accepts 64 levels of nesting", () => {
    expect(JSON.stringify(parse("[".repeat(64) + "]".repeat(64)))).toBe("[".repeat(64) + "]".repeat(64));
  });
});

test.each([
  ["users:read", ["users:read"]],
  ["events:subscribe user:read users:read", ["events:subscribe", "users:read"]],
  ["", []],
  ["users:write", null],
  ["toString", null],
])("the scopes of %p", (text, expected) => {
  expect(parseScopes(text)).toEqual(expected as never);
});
