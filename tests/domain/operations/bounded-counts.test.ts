import { expect, test } from "bun:test";
import { BoundedCounts } from "../../../src/domain/statistics.ts";
import { hour, minute } from "../../../src/domain/time.ts";

test("a hundred subjects are counted separately, all others together", () => {
  const counts = new BoundedCounts();
  expect(counts.shown()).toEqual({ other: 0 });
  for (let i = 0; i < 150; i++) counts.count(`app-${i}`, 0);
  counts.count("app-3", minute);
  const shown = counts.shown();
  expect(Object.keys(shown)).toHaveLength(101);
  expect([shown["app-0"], shown["app-3"], shown["app-99"], shown["other"]]).toEqual([1, 2, 1, 50]);
  expect(shown).not.toHaveProperty("app-100");
});

test("a subject without counts for an hour is replaced by another", () => {
  const counts = new BoundedCounts();
  for (let i = 0; i < 100; i++) counts.count(`app-${i}`, i);
  counts.count("app-0", minute);
  counts.count("late", hour);
  expect(counts.shown()).toMatchObject({ "app-0": 2, "app-1": 1, other: 1 });
  counts.count("late", hour + 1);
  const shown = counts.shown();
  expect(shown).toMatchObject({ "app-0": 2, late: 1, other: 1 });
  expect(shown).not.toHaveProperty("app-1");
});
