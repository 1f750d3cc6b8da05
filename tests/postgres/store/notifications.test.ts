import { afterEach, describe, expect, test } from "bun:test";
import { Notifications, notify, topic } from "../../../src/postgres/notifications.ts";
import { openPool } from "../../../src/postgres/pool.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { bareDatabase, hasPostgres, ownPostgres } from "../../support/postgres.ts";
import { storedApplication } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (let step = undo.pop(); step; step = undo.pop()) await step();
});

const renamed = topic<{ readonly id: number; readonly name: string }>("test_renamed");
const removed = topic<number>("test_removed");

describe.skipIf(!hasPostgres)("notifications between replicas", () => {
  async function listening() {
    const database = await bareDatabase();
    undo.push(database.drop);
    const settings = readDatabaseUrl(database.url);
    const pool = openPool(settings, { connections: 2 });
    undo.push(() => pool.close());
    const notifications = new Notifications(settings, pool);
    undo.push(() => notifications.close());
    const heard: unknown[] = [];
    let missed = 0;
    notifications.on(renamed, ({ id, name }) => heard.push([id, name]));
    notifications.on(removed, (id) => heard.push(id));
    notifications.onMissed(() => missed++);
    await notifications.start();
    return { pool, heard, missed: () => missed };
  }

  test("arrive under their topic and in order, those of a transaction with its commit or not at all", async () => {
    const { pool, heard, missed } = await listening();
    await notify(pool, renamed, { id: 1, name: "Caf\u00e9 'x' \u{1f600}" });
    await pool.transact(async (transaction) => {
      await notify(transaction, removed, 2);
      await notify(pool, removed, 20);
      await until(() => heard.length === 2);
    });
    const undone = pool.transact(async (transaction) => {
      await notify(transaction, removed, 3);
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    await notify(pool, removed, 4);
    await until(() => heard.length >= 4);
    expect(heard).toEqual([[1, "Caf\u00e9 'x' \u{1f600}"], 20, 2, 4]);
    expect(missed()).toBe(0);
  });

  test("of callers are sent when a token changes, but not for its last use", async () => {
    const { store, pool, settings } = await ownPostgres();
    const notifications = new Notifications(settings, pool);
    afterThisTest(() => notifications.close());
    const heard: string[] = [];
    notifications.on(topic<{ readonly kind: string }>("changes"), ({ kind }) => heard.push(kind));
    const mark = topic<null>("test_mark");
    notifications.on(mark, () => heard.push("mark"));
    await notifications.start();
    const hash = new Uint8Array(32).fill(7);
    const applicationId = await storedApplication(store);
    const grant = { applicationId, userId: null, scopes: [], createdAt: 0, expiresAt: 100 };
    await store.tokens.create(hash, grant);
    heard.length = 0;
    await store.tokens.noteUses([{ hash, at: 5 }]);
    await notify(pool, mark, null);
    await until(() => heard.includes("mark"));
    expect(await pool.run("SELECT last_used_at::int FROM tokens")).toEqual([{ last_used_at: 5 }]);
    await pool.run("UPDATE tokens SET last_used_at = 6, expires_at = 99");
    await until(() => heard.length > 1);
    expect(heard).toEqual(["mark", "callers"]);
  });

  test("may be missed when the connection is ended: that is reported at once, and later ones arrive", async () => {
    const { pool, heard, missed } = await listening();
    await pool.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
    );
    await notify(pool, removed, 1);
    await until(() => missed() > 0);
    await until(async () => {
      await notify(pool, removed, 2);
      return heard.includes(2);
    });
    expect(heard).not.toContain(1);
  });
});
