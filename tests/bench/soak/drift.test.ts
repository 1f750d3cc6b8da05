import { describe, expect, test } from "bun:test";
import { seeded } from "../../../src/dev/chance.ts";
import { drifts, median, type Sample, slope } from "./drift.ts";

/** An hour of samples of one metric. */
const hour = (memory: (part: number, i: number) => number | undefined): Sample[] =>
  Array.from({ length: 240 }, (_, i) => ({ seconds: i * 15, values: { memory: memory(i / 240, i) } }));

const memoryOf = (samples: readonly Sample[]) => drifts(samples).find(({ name }) => name === "memory");

describe("a metric", () => {
  const random = seeded(1);
  const noise = () => (random() - 0.5) * 30;

  test.each<[string, boolean, Sample[]]>([
    ["that stays", true, hour(() => 100)],
    ["that only makes noise", true, hour(() => 100 + noise())],
    ["that goes up and down", true, hour((_, i) => 100 + (i % 20))],
    ["that falls", true, hour((part) => 100 - 50 * part)],
    ["that leaps for a moment at the end", true, hour((part) => (part > 0.95 ? 500 : 100))],
    ["that rises by less than its limit", true, hour((part) => 100 + 9 * part)],
    ["that rises", false, hour((part) => 100 + 12 * part)],
    ["that rises behind noise", false, hour((part) => 100 + 25 * part + noise())],
    [
      "that rises where it was measured at times",
      false,
      hour((part, i) => (i % 7 === 0 ? 100 + 25 * part : undefined)),
    ],
  ])("%s is flat: %p", (_, isFlat, samples) => {
    expect(memoryOf(samples)?.isFlat).toBe(isFlat);
  });

  test("has the value of its beginning and of its end, and its rise", () => {
    const found = memoryOf(hour((part) => 100 + 50 * part));
    expect(found?.first).toBeCloseTo(105, 0);
    expect(found?.last).toBeCloseTo(145, 0);
    expect(found?.drift).toBeCloseTo(50, 0);
    expect(found?.limit).toBeCloseTo(10.5, 0);
  });

  test("that was never measured is flat", () => {
    expect(memoryOf([])).toMatchObject({ first: 0, last: 0, drift: 0, isFlat: true });
  });
});

test("the median of an odd number of values, of an even number, and of none", () => {
  expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([])]).toEqual([2, 2.5, 0]);
});

test("the slope is the median slope of all pairs", () => {
  const line = Array.from({ length: 20 }, (_, seconds) => ({
    seconds,
    value: seconds === 10 ? 1e9 : 2 * seconds,
  }));
  expect(slope(line)).toBe(2);
});
