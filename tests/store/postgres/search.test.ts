import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type NewUser, userFrom } from "../../../src/domain/users.ts";
import { readDatabaseUrl } from "../../../src/store/postgres/database/connection-url.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { emptyDatabase, hasPostgres, type TestDatabase } from "../../support/postgres.ts";

const users: readonly NewUser[] = Array.from({ length: 4_000 }, (_, i) =>
  userFrom({
    id: i + 1,
    username: `${i % 9 === 0 ? "golden" : "fan"}_${i % 7 === 0 ? "wolf" : "of"}_${i}`,
    display_name: i % 500 === 0 ? `Rare ${i}` : `Fan ${i}`,
    followers_count: (i * 37) % 600,
  }),
);

/** The contract's order, slowly and obviously. */
function slowly(query: string, limit: number): number[] {
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
    // What `autovacuum` does in time. The counters of changed rows lag behind.
    const pool = await import("../../../src/store/postgres/database/pool.ts");
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
    ["of two that are common each", "golden_wolf"],
    ["that few have", "rare"],
    ["of one", "fan_of_3999"],
    ["of a name that others begin with", "fan_of_1"],
    ["of no one", "wolf_golden"],
  ])("gives those of a text %s, in the contract's order", async (_, query) => {
    for (const limit of [1, 5, 25, 100]) {
      const found = await store.users.search(query, limit);
      expect([limit, found.users.map(({ id }) => id)]).toEqual([limit, slowly(query, limit)]);
      expect(found.isComplete).toBe(true);
    }
  });
});
