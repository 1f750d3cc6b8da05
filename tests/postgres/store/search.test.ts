import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Store } from "../../../src/domain/store.ts";
import { type NewUser, userFrom } from "../../../src/domain/users.ts";
import { openPostgresStore } from "../../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { emptyDatabase, hasPostgres, type TestDatabase } from "../../support/postgres.ts";

/** Names with parts that thousands have, or hundreds; some have the trigrams of such a part, and not the part. */
function usernameOf(i: number): string {
  if (i === 500 || i === 700) return i === 500 ? "wolf_and_wolf_500" : "ght_owl_and_ght_owl_700";
  if (i % 50 === 2) return `night_ht_owl_${i}`;
  if (i % 40 === 1) return `${i % 160 === 1 ? "night_owl" : "the_night_owl"}_${i}`;
  if (i % 30 === 3) return `badger_${i}`;
  if (i % 30 === 13) return `lizard_${i}`;
  return `${i % 9 === 0 ? "golden" : "fan"}_${i % 7 === 0 ? "wolf" : "of"}_${i}`;
}

/** A few have very many, badgers nearly as many as each other, and always ten others have as many. */
function followersOf(i: number): number {
  if (i === 500 || i === 700 || i % 50 === 2) return 900_000;
  if (i % 30 === 3) return 60 + (i % 19);
  return Math.floor(600_000 / (((i * 37) % 1_200) + 1));
}

const users: readonly NewUser[] = Array.from({ length: 12_000 }, (_, i) =>
  userFrom({
    id: i + 1,
    username: usernameOf(i),
    display_name: i % 500 === 0 ? `Rare ${i}` : `Fan ${i}`,
    followers_count: followersOf(i),
  }),
);

/** The contract's order, slowly and obviously. */
function slowly(query: string, limit: number, users: readonly NewUser[]): number[] {
  const rank = ({ username }: NewUser) => (username === query ? 0 : username.startsWith(query) ? 1 : 2);
  const named = ({ username, display_name }: NewUser) =>
    username.includes(query) || display_name.toLowerCase().includes(query);
  return users
    .filter(named)
    .sort((a, b) => rank(a) - rank(b) || b.followers_count - a.followers_count || a.id - b.id)
    .slice(0, limit)
    .map(({ id }) => id);
}

describe.skipIf(!hasPostgres)("a search, once the statistics tell how common its terms are", () => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await emptyDatabase();
    store = await openPostgresStore(readDatabaseUrl(database.url), { connections: 4 });
    await store.users.upsert(users, "2026-01-14T16:00:00Z");
    // Done by `autovacuum` in production. The counters of changed rows lag behind.
    const pool = await import("../../../src/postgres/pool.ts");
    const db = pool.openPool(readDatabaseUrl(database.url), { connections: 1 });
    await db.run("ANALYZE user_search");
    await db.close();
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  test.each([
    ["that nearly all have", "fan"],
    ["that many have in the middle", "_wolf_"],
    ["that many have, one of them twice and at the beginning", "wolf_"],
    ["of two that are common each", "golden_wolf"],
    ["that few have", "rare"],
    ["of one", "fan_of_3999"],
    ["of a name that others begin with", "fan_of_1"],
    ["of no one", "wolf_golden"],
    ["that hundreds have, at the beginning and later", "night_owl"],
    ["that hundreds have, never first", "the_night_owl"],
    ["that hundreds have, one of them twice and at the beginning", "ght_owl"],
    ["that hundreds have, always first", "lizard"],
    ["that hundreds have who are equally popular", "badger"],
    ["of one among hundreds", "night_owl_1281"],
  ])("gives those of a text %s, in the contract's order", async (_, query) => {
    for (const limit of [1, 5, 25, 100]) {
      const found = await store.users.search(query, limit);
      expect([limit, found.users.map(({ id }) => id)]).toEqual([limit, slowly(query, limit, users)]);
      expect(found.isComplete).toBe(true);
    }
  });

  test("follows the counts of followers", async () => {
    const counts = [5_000_000, 0, 599, 600, 601, 1, 2];
    const changed = users.map((user, i) =>
      i % 4 === 1 ? { ...user, followers_count: counts[Math.floor(i / 30) % counts.length] ?? 0 } : user,
    );
    await store.users.upsert(changed, "2026-01-15T16:00:00Z");
    for (const query of ["lizard", "badger", "night_owl", "ght_owl"]) {
      const found = await store.users.search(query, 100);
      expect([query, found.users.map(({ id }) => id)]).toEqual([query, slowly(query, 100, changed)]);
    }
  });
});
