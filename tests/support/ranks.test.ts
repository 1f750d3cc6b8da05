import { expect, test } from "bun:test";
import { seeded } from "../../src/dev/chance.ts";
import { distinctRanks, zipfRanks } from "./ranks.ts";

test("ranks drawn uniformly come once each, from the whole range, in no order", () => {
  const ranks = distinctRanks(10_000, 2_000, seeded(1));
  expect(new Set(ranks).size).toBe(2_000);
  expect(Math.min(...ranks)).toBeLessThan(50);
  expect(Math.max(...ranks)).toBeGreaterThan(9_949);
  expect(Math.max(...ranks)).toBeLessThan(10_000);
  const ascending = ranks.filter((rank, i) => i > 0 && rank > (ranks[i - 1] ?? 0)).length;
  expect(ascending).toBeWithin(900, 1_100);
  expect(distinctRanks(10_000, 2_000, seeded(1))).toEqual(ranks);
});

test("where more ranks are asked for than there are, each of them comes once", () => {
  const ranks = distinctRanks(100, 500, seeded(2));
  expect([...ranks].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test("by Zipf's law the first rank is drawn twice as often as the second", () => {
  const ranks = zipfRanks(1_000, 100_000, seeded(3));
  const times = (wanted: number) => ranks.filter((rank) => rank === wanted).length;
  expect(times(0) / times(1)).toBeWithin(1.9, 2.1);
  expect(times(0) / 100_000).toBeWithin(0.12, 0.15); // 1 of 7.49, the sum of 1/1 to 1/1000
});
