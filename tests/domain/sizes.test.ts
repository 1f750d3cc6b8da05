import { expect, test } from "bun:test";
import { diskForecast, freeSpaceOf } from "../../src/domain/sizes.ts";
import { day, hour } from "../../src/domain/time.ts";

const now = Date.UTC(2026, 0, 14, 16);

test.each([
  ["fills", 2 * day, 1_400, 1_000, 200, now + 5 * day],
  ["fills, of which less than a day is known", 23 * hour, 1_400, 1_000, null, null],
  ["empties", 2 * day, 600, 1_000, -200, null],
  ["stays as it is", 2 * day, 1_000, 1_000, 0, null],
  ["fills within ten years or later", 7 * day, 1_000_007, 1_000_000, 1, null],
  ["is full", day, 1_000, 0, 1_000, now],
])("a disk that %s", (_, ago, before, free, usedPerDay, fullAt) => {
  expect(diskForecast({ at: now - ago, bytes: before }, free, now)).toEqual({ usedPerDay, fullAt });
});

test("there is no forecast without a sample", () => {
  expect([freeSpaceOf(undefined), freeSpaceOf({ at: now, counts: {} })]).toEqual([null, null]);
  expect(freeSpaceOf({ at: now, counts: { samples: 2, free_bytes: 10 } })).toEqual({ at: now, bytes: 5 });
  expect(diskForecast(null, 1_000, now)).toEqual({ usedPerDay: null, fullAt: null });
});
