import { expect, test } from "bun:test";
import { addingUp, sizesWithSum } from "../../src/web/text.ts";

test.each([
  [[1, 1, 1], 100, [34, 33, 33]],
  [[999, 1], 100, [100, 0]],
  [[0, 0], 100, [0, 0]],
  [[], 100, []],
  [[5, 3, 2, 2], 10, [4, 2, 2, 2]],
])("%j as shares of %d are %j", (values, whole, shares) => {
  const made = addingUp(values, whole);
  expect(made.toSorted()).toEqual(shares.toSorted());
  const sum = values.some((value) => value > 0) ? whole : 0;
  expect(made.reduce((total, value) => total + value, 0)).toBe(sum);
});

test("sizes are shown in one unit, and add up to what is shown as their sum", () => {
  expect(sizesWithSum([4_050_000, 4_050_000, 4_050_000])).toEqual(["4.1 MB", "4.1 MB", "4.0 MB", "12.2 MB"]);
  expect(sizesWithSum([40_960, 1])).toEqual(["41.0 kB", "0.0 kB", "41.0 kB"]);
  expect(sizesWithSum([2e10])).toEqual(["20.0 GB", "20.0 GB"]);
});
