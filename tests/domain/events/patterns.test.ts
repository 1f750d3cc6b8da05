import { describe, expect, test } from "bun:test";
import { boundedPattern } from "../../../src/domain/events/patterns.ts";

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
