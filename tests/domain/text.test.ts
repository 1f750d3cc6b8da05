import { describe, expect, test } from "bun:test";
import { parseScopes } from "../../src/domain/tokens.ts";
import { parseJson } from "../../src/domain/validation/json.ts";
import { codePoints, fold } from "../../src/domain/validation/text.ts";

describe("fold", () => {
  test.each([
    ["xQcOW", "xqcow"],
    ["Pokémon", "pokemon"],
    ["Poke\u0301mon", "pokemon"],
    ["ÅNGSTRÖM", "angstrom"],
    ["İstanbul", "istanbul"],
    ["Straße", "strasse"],
    ["ΟΔΥΣΣΕΥΣ", "οδυσσευσ"],
    ["풍월량", "풍월량"],
    ["한".normalize("NFD"), "한"],
    ["がぎ", "がぎ"],
    ["กิน", "กิน"],
    ["木棉花", "木棉花"],
    ["", ""],
  ])("%s is %s", (text, folded) => {
    expect(fold(text)).toBe(folded);
    expect(fold(fold(text))).toBe(folded);
  });

  test("leaves kana, Han and Hangul unchanged, alone and beside folded letters", () => {
    const ranges = ["ぁゖ", "ァヺ", "ーー", "一鿿", "가힣"];
    for (const [first = "", last = ""] of ranges.map((range) => [...range])) {
      for (let code = first.charCodeAt(0); code <= last.charCodeAt(0); code++) {
        const letter = String.fromCharCode(code);
        if (fold(letter) !== letter || fold(`É${letter}`) !== `e${letter}`) throw new Error(letter);
      }
    }
  });
});

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
