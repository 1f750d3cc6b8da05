import { expect, test } from "bun:test";
import {
  day,
  hour,
  isoTime,
  minute,
  second,
  shownDuration,
  timestampPattern,
  utcTime,
} from "../../src/domain/time.ts";

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

test.each([
  ["2026-01-14T16:08:06Z", "2026-01-14T16:08:06Z"],
  ["2026-01-14T16:08:06.10Z", "2026-01-14T16:08:06.10Z"],
  ["2026-01-14t16:08:06z", "2026-01-14T16:08:06Z"],
  ["2026-01-14T16:08:06+00:00", "2026-01-14T16:08:06Z"],
  ["2026-01-14T16:08:06-00:00", "2026-01-14T16:08:06Z"],
  ["2026-01-14T18:08:06.123456789+02:00", "2026-01-14T16:08:06.123456789Z"],
  ["2026-01-01T00:30:00+09:00", "2025-12-31T15:30:00Z"],
  ["2026-12-31T20:00:00-05:45", "2027-01-01T01:45:00Z"],
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
  // Dates that do not exist, where they are written or in UTC.
  ["2026-02-30T16:08:06Z", null],
  ["2026-02-29T23:00:00-05:00", null],
  ["9999-12-31T23:59:59-01:00", null],
  ["0000-01-01T00:00:00+01:00", null],
] as const)("%s is %s in UTC", (text, utc) => {
  expect(text).toMatch(new RegExp(timestampPattern));
  expect(utcTime(text)).toBe(utc);
});

test.each([
  "2026-01-14",
  "2026-01-14T16:08:06",
  "2026-01-14T16:08:06+0100",
  "2026-01-14T16:08:06+24:00",
  "2026-01-14T16:08:06+01:60",
  "2026-01-14T16:08:06 01:00",
  "2026-01-14 16:08:06Z",
])("%s is no timestamp", (text) => {
  expect(text).not.toMatch(new RegExp(timestampPattern));
});
