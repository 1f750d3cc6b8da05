import { expect, test } from "bun:test";
import { day, hour, isoTime, minute, second, shownDuration } from "../../src/domain/time.ts";

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

test("a duration is shown in its largest unit of at least two, and one second in the singular", () => {
  const shown = [0, 999, second, 2 * second, 119 * second, 2 * minute, 2 * hour, 2 * day].map(shownDuration);
  expect(shown).toEqual([
    "0 seconds",
    "0 seconds",
    "1 second",
    "2 seconds",
    "119 seconds",
    "2 minutes",
    "2 hours",
    "2 days",
  ]);
});
