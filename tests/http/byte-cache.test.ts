import { expect, test } from "bun:test";
import { ByteCache } from "../../src/http/public/byte-cache.ts";
import { seededRandom } from "../bench/support/random.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const kept = (id: number, text: string) => ({ id, stamp: (id % 1_000) - 500, bytes: bytesOf(text) });

test("gives back what was put under a name, and the newest of it", () => {
  const cache = new ByteCache(10_000);
  expect(cache.get("ada")).toBeNull();
  cache.put("ada", kept(2 ** 53 - 1, "one"));
  cache.put("bob", kept(2, "two"));
  cache.put("ada", kept(3, "three"));
  expect(cache.get("ada")).toEqual(kept(3, "three"));
  expect(cache.get("bob")).toEqual(kept(2, "two"));
  for (const other of ["", "ad", "adam", "Ada"]) expect(cache.get(other)).toBeNull();
});

test("keeps any id, stamp, name and length", () => {
  const cache = new ByteCache(10_000);
  const all: [string, number, number, string][] = [
    ["", 0, 0, ""],
    ["a", 2 ** 53 - 1, 2 ** 31 - 1, "x"],
    ["ÿ\0", 1, -(2 ** 31), "é"],
    ["n".repeat(300), 1, 1, "b".repeat(1_000)],
  ];
  for (const [name, id, stamp, text] of all) {
    cache.put(name, { id, stamp, bytes: bytesOf(text) });
    expect(cache.get(name)).toEqual({ id, stamp, bytes: bytesOf(text) });
  }
});

test("keeps neither what is larger than half of it nor what has a name of other letters", () => {
  const cache = new ByteCache(2_000);
  cache.put("ada", kept(1, "one"));
  cache.put("large", kept(2, "x".repeat(1_000)));
  // Cut to bytes, its letters would be those of "ada".
  cache.put("\u0161\u0164\u0161", kept(3, "three"));
  expect(["large", "\u0161\u0164\u0161"].map((name) => cache.get(name))).toEqual([null, null]);
  expect(cache.get("ada")).toEqual(kept(1, "one"));
});

test("drops what nobody asks for", () => {
  const cache = new ByteCache(10_000);
  cache.put("popular", kept(0, "popular"));
  cache.put("lonely", kept(1, "lonely"));
  for (let id = 2; id < 1_000; id++) {
    cache.put(`user${id}`, kept(id, `text of ${id}`));
    expect(cache.get("popular")).toEqual(kept(0, "popular"));
  }
  expect(cache.get("lonely")).toBeNull();
});

test("among thousands of names it never gives one the bytes of another", () => {
  const random = seededRandom(5);
  const cache = new ByteCache(40_000);
  const newest = new Map<string, number>();
  let found = 0;
  for (let step = 0; step < 50_000; step++) {
    const name = `u${Math.floor(random() ** 2 * 2_000).toString(36)}`;
    if (random() < 0.5) {
      cache.put(name, { id: step, stamp: step, bytes: bytesOf(`${name} ${step} ${"x".repeat(step % 90)}`) });
      newest.set(name, step);
      continue;
    }
    const known = cache.get(name);
    if (!known) continue;
    found++;
    const { id, stamp, bytes } = known;
    const text = `${name} ${id} ${"x".repeat(id % 90)}`;
    expect([id, stamp, new TextDecoder().decode(bytes)]).toEqual([newest.get(name) ?? -1, id, text]);
  }
  expect(found).toBeGreaterThan(2_000);
});
