import { describe, expect, test } from "bun:test";
import { BoundedCounts, quantile, StatisticCounter, sumOf, sumOfAll } from "../../src/domain/statistics.ts";
import { hour, minute } from "../../src/domain/time.ts";

function counterOf(durations: readonly number[]) {
  const counter = new StatisticCounter(() => 0);
  for (const ms of durations) counter.count("requests", "public getUser", "requests", ms);
  return counter;
}

describe("a counter", () => {
  test("counts per subject and in total, by minute, until it is read", () => {
    let now = 90_000;
    const counter = new StatisticCounter(() => now);
    counter.count("deliveries", "a", "delivered", 3);
    counter.count("deliveries", "a", "failed", null);
    now = 2 * minute;
    counter.count("deliveries", "b", "delivered", null);
    const shown = counter.take().map(({ subject, at, counts }) => [subject, at, counts]);
    expect(shown).toEqual([
      ["", minute, { delivered: 1, failed: 1 }],
      ["a", minute, { delivered: 1, failed: 1 }],
      ["", 2 * minute, { delivered: 1 }],
      ["b", 2 * minute, { delivered: 1 }],
    ]);
    expect(counter.take()).toEqual([]);
  });

  test("is bounded to some thousand subjects, and counts the others only in the total", () => {
    const counter = new StatisticCounter(() => 0);
    for (let i = 0; i < 5_000; i++) counter.count("deliveries", `app${i}`, "delivered", null);
    const rows = counter.take();
    expect(rows).toHaveLength(2_000);
    expect(rows[0]).toMatchObject({ subject: "", counts: { delivered: 5_000 } });
  });

  test("gives the 20 applications with the most requests, and the total of all", () => {
    const counter = new StatisticCounter(() => 0);
    for (let i = 0; i < 3_000; i++) counter.count("applications", `app${i}`, "requests", null);
    for (let n = 0; n < 5; n++) counter.count("applications", "app2500", "requests", null, "rate_limited");
    const [total, most, ...rest] = counter.take();
    expect(total).toMatchObject({ subject: "", counts: { requests: 3_005 } });
    expect(most).toMatchObject({ subject: "app2500", counts: { requests: 6, rate_limited: 5 } });
    expect(rest).toHaveLength(19);
  });
});

describe("a quantile", () => {
  test.each<[string, number[], number, number | null]>([
    ["is none where nothing was measured", [], 0.5, null],
    ["is within the bucket of a single value", [3], 0.5, 3.5],
    ["of equal values is within their bucket", Array(100).fill(15), 0.99, 19.9],
    ["of which one in a hundred is slow is not that one", [...Array(99).fill(1.5), 900], 0.99, 2],
    ["above it is that one", [...Array(99).fill(1.5), 900], 0.995, 750],
    ["is bounded for what no bucket holds", [10 ** 9], 0.99, 300_000],
  ])("%s", (_, durations, share, expected) => {
    const [row] = counterOf(durations).take();
    expect(quantile(row ?? { counts: {}, durations: [] }, share)).toBe(expected);
  });

  test("of a sum is that of both parts together", () => {
    const [fast] = counterOf(Array(50).fill(0.3)).take();
    const [slow] = counterOf(Array(50).fill(40)).take();
    if (!fast || !slow) throw new Error("nothing was counted");
    expect(sumOf(fast, slow)).toEqual(sumOf(slow, fast));
    expect(quantile(sumOfAll([fast, slow]), 0.5)).toBe(0.5);
    expect(quantile(sumOfAll([fast, slow]), 0.99)).toBeGreaterThan(20);
    expect(sumOfAll([fast, slow]).counts).toEqual({ requests: 100 });
  });
});

test("a hundred subjects are counted separately, all others together", () => {
  const counts = new BoundedCounts();
  expect(counts.counts()).toEqual({ other: 0 });
  for (let i = 0; i < 150; i++) counts.count(`app-${i}`, 0);
  counts.count("app-3", minute);
  const shown = counts.counts();
  expect(Object.keys(shown)).toHaveLength(101);
  expect([shown["app-0"], shown["app-3"], shown["app-99"], shown["other"]]).toEqual([1, 2, 1, 50]);
  expect(shown).not.toHaveProperty("app-100");
});

test("a subject without counts for an hour is replaced by another", () => {
  const counts = new BoundedCounts();
  for (let i = 0; i < 100; i++) counts.count(`app-${i}`, i);
  counts.count("app-0", minute);
  counts.count("late", hour);
  expect(counts.counts()).toMatchObject({ "app-0": 2, "app-1": 1, other: 1 });
  counts.count("late", hour + 1);
  const shown = counts.counts();
  expect(shown).toMatchObject({ "app-0": 2, late: 1, other: 1 });
  expect(shown).not.toHaveProperty("app-1");
});
