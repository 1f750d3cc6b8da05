import { expect, test } from "bun:test";
import { fold } from "../../src/domain/text.ts";
import { type NewUser, userFrom } from "../../src/domain/users.ts";
import { popularityBucket } from "../../src/store/sqlite/search.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { temporaryDirectory } from "../support/server.ts";

/** A small generator of numbers that are the same on every run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The contract's order, slowly and obviously. */
function slowSearch(users: Iterable<NewUser>, query: string, limit: number): number[] {
  const text = fold(query);
  const rank = (user: NewUser) =>
    fold(user.username) === text ? 0 : fold(user.username).startsWith(text) ? 1 : 2;
  return [...users]
    .filter((user) => fold(user.username).includes(text) || fold(user.display_name).includes(text))
    .sort((a, b) => rank(a) - rank(b) || b.followers_count - a.followers_count || a.id - b.id)
    .slice(0, limit)
    .map(({ id }) => id);
}

test("gives exactly what a slow search gives, on random users that change", async () => {
  const directory = temporaryDirectory();
  const store = openStore(directory.path);
  const random = randomFrom(42);
  const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T;
  const syllables = ["an", "na", "ann", "é", "ñ", "한", "국", "花", "x", "_", "A", "ß", "9"];
  const word = (length: number) => Array.from({ length }, () => pick(syllables)).join("");
  const followers = () => pick([0, 1, 1, 2, 7, 255, 256, 257, 300, 1_000, 1_001, 1_020, 5_000_000, 2 ** 40]);
  const known = new Map<number, NewUser>();
  const names = new Map<string, number>();
  try {
    for (let round = 0; round < 15; round++) {
      const batch: NewUser[] = [];
      for (let i = 0; i < 60; i++) {
        const id = pick([random(300) + 1, 2 ** 53 - 1 - random(50)]);
        const username = word(1 + random(5)).replace(/[^A-Za-z0-9_]/g, "z") || "z";
        const owner = names.get(username.toLowerCase());
        if (owner !== undefined && owner !== id) continue;
        const before = known.get(id);
        if (before) names.delete(before.username.toLowerCase());
        const user = userFrom({
          id,
          username,
          display_name: word(1 + random(6)),
          followers_count: followers(),
        });
        batch.push(user);
        known.set(id, user);
        names.set(username.toLowerCase(), id);
      }
      const refused = (await store.users.upsert(batch, "2026-01-01T00:00:00Z")).filter(
        (reason) => reason !== null,
      );
      expect(refused).toEqual([]);
      for (let i = 0; i < 120; i++) {
        const query = word(3 + random(3));
        if ([...fold(query)].length < 3) continue;
        const limit = pick([1, 2, 5, 25, 100]);
        const found = (await store.users.search(query, limit)).map(({ id }) => id);
        expect([query, limit, found]).toEqual([query, limit, slowSearch(known.values(), query, limit)]);
      }
    }
  } finally {
    await store.close();
    directory.remove();
  }
});

test("the buckets follow the count of followers, and are one count each up to 255", () => {
  const counts = [0, 1, 2, 254, 255, 256, 300, 1_000, 1_000_000, 2 ** 40, Number.MAX_SAFE_INTEGER];
  const buckets = counts.map(popularityBucket);
  expect(buckets).toEqual(buckets.toSorted((a, b) => b - a));
  expect(new Set(Array.from({ length: 256 }, (_, count) => popularityBucket(count))).size).toBe(256);
  for (const bucket of buckets) expect(bucket >= 0 && bucket <= 1023).toBe(true);
});
