import { expect, test } from "bun:test";
import { isoTime } from "../../src/domain/time.ts";

test("times are formatted like Date.toISOString, in any order of calls", () => {
  const start = Date.UTC(2026, 0, 14, 16, 8, 6, 123);
  const times = [
    0,
    1,
    876,
    877,
    877,
    -1,
    1_000,
    0.9,
    -start - 1,
    -start,
    1 - start - 1_000,
    250_000_000_000_000 - start,
  ];
  for (const after of times) expect(isoTime(start + after)).toBe(new Date(start + after).toISOString());
});

test("an invalid time throws, and does not affect the next call", () => {
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 9e15]) {
    expect(() => isoTime(wrong)).toThrow(RangeError);
    expect(isoTime(5)).toBe("1970-01-01T00:00:00.005Z");
  }
});
