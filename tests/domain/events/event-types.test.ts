import { describe, expect, test } from "bun:test";
import type { FieldProblem } from "../../../src/domain/errors.ts";
import { eventTypeOf } from "../../../src/domain/events/catalogue.ts";
import { boundedPattern } from "../../../src/domain/events/patterns.ts";
import { second } from "../../../src/domain/time.ts";

describe("a pattern matches the same texts as JavaScript's RegExp", () => {
  test.each([
    ["^#?[0-9a-f]{6}$", ["#aabbcc", "aabbcc", "#aabbc", "x#aabbcc"]],
    ["raffle", ["a raffle", "rafle", ""]],
    ["^\\p{L}+$", ["né", "a1"]],
    ["^.$", ["😀", "ab"]],
    ["\\u00e9|\\u{1F600}", ["é", "😀", "e"]],
    ["^[\\w.]+@\\S+$", ["a.b@c", "a b@c"]],
    ["^\\S+\\s\\S+$", ["Ana\u00a0Lopez", "Ana\v\u3000", "Ana Lopez", "Ana\u00a0", "AnaLopez"]],
    ["^[\\s\\d]+$", ["\u20031\ufeff", "\v", "x"]],
    ["^[^\\s]+$", ["Ana", "A\u00a0"]],
    ["^[x\\S]$", ["\u00a0", "x", "[", "\\"]],
    ["^\\[\\s\\]$", ["[\u00a0]", "[s]"]],
    ["^\\ud83d\\ude00$", ["😀", "\ud83d"]],
    ["^[\\uD83D\\uDE00-\\uD83D\\uDE4F]$", ["😀", "🚀"]],
    ["\\bfoo\\b", ["a foo", "afoo"]],
    ["(?<year>\\d{4})", ["in 2026", "in 26"]],
    ["a/b\\/c", ["a/b/c", "abc"]],
  ])("%s", (pattern, texts) => {
    const own = new RegExp(pattern, "u");
    const bounded = boundedPattern(pattern, "u");
    expect(texts.map((text) => bounded.test(text))).toEqual(texts.map((text) => own.test(text)));
    expect(new Set(texts.map((text) => own.test(text)))).toEqual(new Set([true, false]));
  });
});

test("a pattern that RE2 does not support is refused", () => {
  expect(() => boundedPattern("^(?!x)", "u")).toThrow("RE2 does not support");
});

/** The problems of a list whose schema has these keywords. */
async function problemsOf(items: readonly unknown[], keywords: object = { uniqueItems: true }) {
  const type = await eventTypeOf({
    name: "raffle.drawn",
    version: 1,
    description: "",
    schema: { type: "object", properties: { list: { type: "array", ...keywords } } },
    example: {},
    time_to_live_seconds: null,
  });
  return type.check?.({ list: items });
}

const repeated = (first: number, second: number): FieldProblem[] => [
  {
    in: "body",
    field: "data.list",
    message: `must NOT have duplicate items (items ## ${first} and ${second} are identical)`,
  },
];

test.each<[string, unknown[], FieldProblem[]]>([
  ["none", [], []],
  ["one", [1], []],
  ["numbers that differ", [1, 2, 3], []],
  ["a number and its text", [1, "1", null, "null", true, "true", [1], ["1"]], []],
  ["a number twice", [1, 2, 1.0], repeated(0, 2)],
  ["zero with either sign", [0, -0], repeated(0, 1)],
  [
    "objects with the same fields in another order",
    [
      { a: 1, b: { c: 2, d: 3 } },
      { b: { d: 3, c: 2 }, a: 1 },
    ],
    repeated(0, 1),
  ],
  ["objects that differ deep within", [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 3 }] } }], []],
  [
    "fields whose concatenated names and values are equal",
    [
      { "a,b": 1, a: 2 },
      { a: "b,1", "a,2": 1 },
    ],
    [],
  ],
  [
    "lists in another order",
    [
      [1, 2],
      [2, 1],
    ],
    [],
  ],
  ["several repetitions: the last one", ["x", "y", "x", "y", "z"], repeated(1, 3)],
])("uniqueItems compares items by value: %s", async (_, items, found) => {
  expect(await problemsOf(items)).toEqual(found);
  expect(await problemsOf(items, { uniqueItems: false })).toEqual([]);
});

test("the work for each item does not grow with the length of the list", async () => {
  const items = Array.from({ length: 32_000 }, (_, i) => [i]);
  const startedAt = performance.now();
  expect(await problemsOf(items)).toEqual([]);
  // Comparing all pairs would be 500 million comparisons.
  expect(performance.now() - startedAt).toBeLessThan(5 * second);
});
