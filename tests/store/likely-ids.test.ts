import { expect, test } from "bun:test";
import { LikelyIds } from "../../src/store/sqlite/likely-ids.ts";

test("gives the id that was noted last, without regard to ASCII case", () => {
  const ids = new LikelyIds();
  expect(ids.get("ada")).toBeNull();
  ids.note("Ada_L", 1);
  ids.note("bob", 2 ** 32 - 1);
  expect([ids.get("aDA_l"), ids.get("bob"), ids.get("ada")]).toEqual([1, 2 ** 32 - 1, null]);
  ids.note("ada_l", 3);
  expect(ids.get("Ada_L")).toBe(3);
});

test("what does not fit into 32 bits is not kept, nor cut", () => {
  const ids = new LikelyIds();
  ids.note("ada", 2 ** 32);
  ids.note("bob", 2 ** 53 - 1);
  expect([ids.get("ada"), ids.get("bob")]).toEqual([null, null]);
});

test("of as many as there is room for most are known, and few others are taken for one of them", () => {
  const ids = new LikelyIds();
  for (let id = 1; id <= LikelyIds.most; id++) ids.note(`user${id}`, id);
  const sample = Array.from({ length: 10_000 }, (_, i) => 1 + i * 100);
  const right = sample.filter((id) => ids.get(`user${id}`) === id);
  const taken = sample.filter((id) => ids.get(`nobody${id}`) !== null);
  expect(right.length).toBeGreaterThan(8_000);
  expect(taken.length).toBeLessThan(500);
  // Those who come later find room, too: nearly all of as many as a tenth of it.
  const later = Array.from({ length: LikelyIds.most / 10 }, (_, i) => LikelyIds.most + i);
  for (const id of later) ids.note(`later${id}`, id);
  expect(later.filter((id) => ids.get(`later${id}`) === id).length).toBeGreaterThan(later.length * 0.9);
});
