import { expect, test } from "bun:test";
import { ByteCache } from "../../src/http/public/byte-cache.ts";
import { seededRandom } from "../bench/support/random.ts";

/** Room for 1,024 short records at the most. */
const bytes = 2 ** 18;
const bytesOf = (text: string) => new TextEncoder().encode(text);
const kept = (id: number, text: string) => ({ id, stamp: (id % 1_000) - 500, bytes: bytesOf(text) });

test("gives back what was put under a name, and the newest of it", () => {
  const cache = new ByteCache(bytes);
  expect(cache.get("ada")).toBeNull();
  cache.put("ada", kept(2 ** 53 - 1, "one"));
  cache.put("bob", kept(2, "two"));
  cache.put("ada", kept(3, "three"));
  expect(cache.get("ada")).toEqual(kept(3, "three"));
  expect(cache.get("bob")).toEqual(kept(2, "two"));
  for (const other of ["", "ad", "adam", "Ada"]) expect(cache.get(other)).toBeNull();
});

test("keeps any id, stamp, name and length", () => {
  const cache = new ByteCache(bytes);
  const all: [string, number, number, string][] = [
    ["", 0, 0, ""],
    ["a", 2 ** 53 - 1, 2 ** 31 - 1, "x"],
    ["ÿ\0", 1, -(2 ** 31), "é"],
    ["n".repeat(100), 1, 1, "b".repeat(900)],
  ];
  for (const [name, id, stamp, text] of all) {
    cache.put(name, { id, stamp, bytes: bytesOf(text) });
    expect(cache.get(name)).toEqual({ id, stamp, bytes: bytesOf(text) });
  }
});

test("keeps neither what is too long nor what has a name of other letters", () => {
  const cache = new ByteCache(bytes);
  expect(cache.longestRecordBytes).toBe(1_024);
  cache.put("ada", kept(1, "one"));
  cache.put("large", kept(2, "x".repeat(1_024)));
  // Cut to bytes, its letters would be those of "ada".
  cache.put("\u0161\u0164\u0161", kept(3, "three"));
  expect(["large", "\u0161\u0164\u0161"].map((name) => cache.get(name))).toEqual([null, null]);
  expect(cache.get("ada")).toEqual(kept(1, "one"));
});

test("drops what nobody asks for", () => {
  const cache = new ByteCache(bytes);
  cache.put("popular", kept(0, "popular"));
  cache.put("lonely", kept(1, "lonely"));
  for (let id = 2; id < 5_000; id++) {
    for (const _ of ["first", "second"]) cache.put(`user${id}`, kept(id, `text of ${id}`));
    expect(cache.get(`user${id}`)).toEqual(kept(id, `text of ${id}`));
    expect(cache.get("popular")).toEqual(kept(0, "popular"));
  }
  expect(cache.get("lonely")).toBeNull();
  const left = Array.from({ length: 5_000 }, (_, id) => cache.get(`user${id}`)).filter(Boolean);
  expect(left.length).toBeGreaterThan(500);
  expect(left.length).toBeLessThanOrEqual(1_024);
});

test("those who come once drive nobody out", () => {
  const cache = new ByteCache(bytes);
  const names = Array.from({ length: 900 }, (_, id) => `user${id}`);
  for (const [id, name] of names.entries()) cache.put(name, kept(id, name));
  for (const name of names) cache.get(name);
  for (let id = 1_000; id < 20_000; id++) cache.put(`once${id}`, kept(id, "once"));
  // But for an eighth of the segment whose cleaning showed that all is full.
  expect(names.filter((name) => !cache.get(name)).length).toBeLessThanOrEqual(4);
});

test("what is changed is kept at once, however full it is", () => {
  const cache = new ByteCache(bytes);
  const names = Array.from({ length: 2_000 }, (_, id) => `user${id}`);
  for (const name of [...names, ...names]) cache.put(name, kept(1, "before"));
  const changed = names.filter((name) => {
    if (!cache.get(name)) return false;
    cache.put(name, kept(2, "after"));
    expect(cache.get(name)).toEqual(kept(2, "after"));
    return true;
  });
  expect(changed.length).toBeGreaterThan(500);
});

test("among thousands of names it never gives one the bytes of another", () => {
  const random = seededRandom(5);
  const cache = new ByteCache(bytes);
  const newest = new Map<string, number>();
  let found = 0;
  for (let step = 0; step < 50_000; step++) {
    const name = `u${Math.floor(random() ** 2 * 4_000).toString(36)}`;
    if (random() < 0.5) {
      cache.put(name, { id: step, stamp: step, bytes: bytesOf(`${name} ${step} ${"x".repeat(step % 900)}`) });
      // Unless it came for the first time while all was full.
      newest.set(name, step);
      if (cache.get(name)?.id !== step) newest.delete(name);
      continue;
    }
    const known = cache.get(name);
    if (!known) continue;
    found++;
    const { id, stamp, bytes } = known;
    const text = `${name} ${id} ${"x".repeat(id % 900)}`;
    expect([id, stamp, new TextDecoder().decode(bytes)]).toEqual([newest.get(name) ?? -1, id, text]);
  }
  expect(found).toBeGreaterThan(2_000);
});
