import { expect, test } from "bun:test";
import { assignment, shardOf } from "../../../src/postgres/shards.ts";

const replicas = [11, 2 ** 33 + 11, 2 ** 40 + 7, 98_765_432_101_234, 5];

test("each replica is meant to have its share of the shards", () => {
  for (let count = 1; count <= replicas.length; count++) {
    const some = replicas.slice(0, count);
    const meant = assignment(some);
    expect(meant).toHaveLength(256);
    for (const replica of some) {
      const share = meant.filter((one) => one === replica).length;
      expect(share).toBeGreaterThan(128 / count);
      expect(share).toBeLessThan(count === 1 ? 257 : 512 / count);
    }
  }
});

test("one that joins takes shards for itself alone, and gives the same ones back when it leaves", () => {
  const [newest, ...others] = replicas;
  const before = assignment(others);
  const moved = assignment(replicas).filter((one, shard) => one !== before[shard]);
  expect(new Set(moved)).toEqual(new Set([newest ?? 0]));
});

test("all replicas come to the same result, in whatever order they know of each other", () => {
  expect(assignment(replicas.toReversed())).toEqual(assignment(replicas));
});

test("applications that were made one after the other are in different shards", () => {
  const ids = Array.from({ length: 2_000 }, (_, i) => `01KATHZX5M9S3E6R8B2D4F${String(i).padStart(4, "0")}`);
  expect(new Set(ids.map(shardOf)).size).toBe(256);
});
