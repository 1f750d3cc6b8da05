import { expect, test } from "bun:test";
import { ByteCache } from "../../src/http/public/byte-cache.ts";
import { seededRandom } from "../bench/support/random.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const stampOf = (id: number) => (id % 1_000) - 500;
const toKeep = (id: number, text: string) => ({ id, stamp: stampOf(id), text });
const kept = (id: number, text: string) => ({ id, stamp: stampOf(id), bytes: bytesOf(text) });

test("gives back what was put under a name, and the newest of it", () => {
  const cache = new ByteCache(10_000);
  expect([cache.has("ada"), cache.get("ada")]).toEqual([false, null]);
  expect(cache.put("ada", toKeep(2 ** 53 - 1, "one"))).toEqual(bytesOf("one"));
  cache.put("bob", toKeep(2, "two"));
  cache.put("ada", toKeep(3, "three"));
  expect([cache.has("ada"), cache.get("ada")]).toEqual([true, kept(3, "three")]);
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
    cache.put(name, { id, stamp, text });
    expect(cache.get(name)).toEqual({ id, stamp, bytes: bytesOf(text) });
  }
});

test("keeps neither what may be larger than half of it nor what has a name of other letters", () => {
  const cache = new ByteCache(2_000);
  cache.put("ada", toKeep(1, "one"));
  expect(cache.put("large", toKeep(2, "x".repeat(1_000)))).toBeNull();
  // Cut to bytes, its letters would be those of "ada".
  cache.put("\u0161\u0164\u0161", toKeep(3, "three"));
  expect(["large", "\u0161\u0164\u0161"].map((name) => cache.get(name))).toEqual([null, null]);
  expect(cache.get("ada")).toEqual(kept(1, "one"));
});

test("drops what nobody asks for, and bytes that were handed out stay as they are", () => {
  const cache = new ByteCache(10_000);
  cache.put("popular", toKeep(0, "popular"));
  cache.put("lonely", toKeep(1, "lonely"));
  const handedOut = cache.get("lonely")?.bytes;
  for (let id = 2; id < 1_000; id++) {
    cache.put(`user${id}`, toKeep(id, `text of ${id}`));
    expect(cache.get("popular")).toEqual(kept(0, "popular"));
  }
  expect(cache.get("lonely")).toBeNull();
  expect(handedOut).toEqual(bytesOf("lonely"));
});

test("among thousands of names it never gives one the bytes of another", () => {
  const random = seededRandom(5);
  const cache = new ByteCache(40_000);
  const newest = new Map<string, number>();
  let found = 0;
  for (let step = 0; step < 50_000; step++) {
    const name = `u${Math.floor(random() ** 2 * 2_000).toString(36)}`;
    if (random() < 0.5) {
      cache.put(name, { id: step, stamp: step, text: `${name} ${step} ${"x".repeat(step % 90)}` });
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
