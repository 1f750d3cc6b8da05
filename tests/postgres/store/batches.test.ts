import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { categoryFrom } from "../../../src/domain/categories.ts";
import { maxId } from "../../../src/domain/ids.ts";
import { channelFrom } from "../../../src/domain/livestreams.ts";
import type { Store } from "../../../src/domain/store.ts";
import { userFrom } from "../../../src/domain/users.ts";
import { openPool } from "../../../src/postgres/pool.ts";
import { openPostgresStore } from "../../../src/postgres/store.ts";
import { inTime } from "../../../src/runtime/event-loop.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { emptyDatabase, hasPostgres, type TestDatabase } from "../../support/postgres.ts";

const at = "2026-01-02T03:04:05Z";
const user = (id: number, username: string) => userFrom({ id, username });

describe.skipIf(!hasPostgres)("a batch is kept as if its items were kept one after the other", () => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await emptyDatabase();
    store = await openPostgresStore(readDatabaseUrl(database.url), { connections: 4 });
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  test("users: a name that is taken, one that has become free, and the same user twice", async () => {
    const batch = [user(1, "a"), user(2, "b"), user(3, "A"), user(4, "search"), user(1, "c"), user(5, "a")];
    expect(await store.users.upsert(batch, at)).toEqual([
      null,
      null,
      'username "A" is taken by user 1',
      'username "search" is reserved, because it is a path of the public API',
      null,
      null,
    ]);
    const kept = await store.users.page(0, 10);
    expect(kept.map(({ id, username }) => [id, username])).toEqual([
      [1, "c"],
      [2, "b"],
      [5, "a"],
    ]);
  });

  test("all or nothing: one refusal undoes all, and says which could have been kept", async () => {
    const before = await store.users.page(0, 10);
    const refused = store.users.upsert([user(7, "z"), user(8, "Z")], at, { atomic: true });
    await expect(refused).rejects.toMatchObject({ results: [null, 'username "Z" is taken by user 7'] });
    expect(await store.users.page(0, 10)).toEqual(before);
  });

  test("a thousand with one that is refused in the middle", async () => {
    const batch = Array.from({ length: 1_000 }, (_, i) => user(1_000 + i, i === 500 ? "B" : `user${i}`));
    const results = await store.users.upsert(batch, at);
    expect(results.filter((one) => one !== null)).toEqual(['username "B" is taken by user 2']);
    expect(results[500]).not.toBeNull();
  });

  test("categories with their tags", async () => {
    const category = (
      id: number,
      slug: string,
      tags: NonNullable<Parameters<typeof categoryFrom>[0]["tags"]>,
    ) => categoryFrom({ id, name: `C${id}`, slug, tags });
    const batch = [
      category(1, "x", ["first", "second"]),
      category(2, "x", []),
      category(3, "y", [{ id: maxId, name: "last" }]),
      category(4, "w", [{ id: 1, name: "other" }]),
      category(1, "z", ["new"]),
      category(5, "x", ["newer"]),
    ];
    expect(await store.categories.upsert(batch)).toEqual([
      null,
      'slug "x" is taken by category 1',
      null,
      'tag id 1 is taken by "first"',
      null,
      null,
    ]);
    expect(await store.categories.all()).toMatchObject([
      { id: 1, slug: "z", tags: [{ id: 3, name: "new" }] },
      { id: 3, tags: [{ id: maxId, name: "last" }] },
      { id: 5, slug: "x", tags: [{ id: 4, name: "newer" }] },
    ]);
  });

  test("channels", async () => {
    const channel = (id: number, user_id: number, slug: string) => channelFrom({ id, user_id, slug });
    const batch = [channel(1, 1, "s"), channel(2, 99, "t"), channel(3, 2, "s"), channel(4, 2, "u")];
    expect(await store.channels.upsert(batch)).toEqual([
      null,
      "user_id 99 is not a known user: import users first",
      'slug "s" is taken by channel 1',
      null,
    ]);
  });

  test("two batches of the same users in another order do not stop each other", async () => {
    const batch = Array.from({ length: 300 }, (_, i) => user(10_000 + i, `many${i}`));
    const results = await Promise.all(
      [batch, batch.toReversed(), batch, batch.toReversed()].map((one, i) => {
        const changed = one.map((row) => ({ ...row, bio: `by ${i}` }));
        return store.users.upsert(changed, at);
      }),
    );
    expect(results.flat().every((one) => one === null)).toBe(true);
  });

  test("users, while rows that refer to them are stored", async () => {
    const batch = [user(20_001, "referred"), user(20_002, "changed")];
    await store.users.upsert(batch, at);
    const referring = openPool(readDatabaseUrl(database.url), { connections: 1 });
    try {
      await referring.transact(async ({ run }) => {
        // The lock of a foreign key's check.
        await run("SELECT FROM users WHERE id > 20000 FOR KEY SHARE");
        const changed = batch.map((row) => ({ ...row, bio: "changed" }));
        expect(await inTime(store.users.upsert(changed, at), 2_000)).toEqual([null, null]);
      });
    } finally {
      await referring.close();
    }
  });
});
