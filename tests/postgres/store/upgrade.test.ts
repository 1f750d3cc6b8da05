import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appliedSteps,
  migrateDatabase,
  type SchemaStep,
  schemaSteps,
} from "../../../src/postgres/migrations.ts";
import { openPool, type Postgres } from "../../../src/postgres/pool.ts";
import { firstOfPart, keepOfPart } from "../../../src/postgres/retention.ts";
import { readDatabaseUrl } from "../../../src/store/database-url.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { expectFailure, run } from "../../support/process.ts";
import { event, publish, subscribe } from "../../support/publishing.ts";
import { startServer, type TestServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

/*
 * A version beside the one before it on one database: what the newer one adds is applied while the older one serves.
 * Here the older one is this one, and the newer one has more migrations.
 */

const columns: SchemaStep = {
  name: "9000_columns",
  sql: `ALTER TABLE users ADD COLUMN motto text NOT NULL DEFAULT '';
--> statement-breakpoint
ALTER TABLE deliveries ADD COLUMN cost bigint;
--> statement-breakpoint
ALTER TABLE subscriptions ADD COLUMN label text;
--> statement-breakpoint
ALTER TABLE endpoints ADD COLUMN region text;`,
  isCompatible: true,
};
const incompatible: SchemaStep = {
  name: "9000_renamed",
  sql: "ALTER TABLE users RENAME COLUMN bio TO about",
};

/** Makes the creation of an index wait while the lock is held. */
const gate = 4_711;
const gatedKey = `CREATE FUNCTION gated(key text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${gate}); RETURN key; END $$`;
const index: SchemaStep = {
  name: "9001_index",
  sql: `CREATE INDEX CONCURRENTLY "deliveries_gated" ON "deliveries" (gated(event_id))`,
  isCompatible: true,
};

describe.skipIf(!hasPostgres)("a newer version", () => {
  let url: string;
  let newer: Postgres;
  let other: Postgres;
  const undo: (() => Promise<unknown>)[] = [];

  beforeEach(async () => {
    const database = await emptyDatabase();
    url = database.url;
    undo.push(database.drop);
    newer = opened(0);
    other = opened();
  });
  afterEach(async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  });

  function opened(statementTimeoutMs = 10_000): Postgres {
    const pool = openPool(readDatabaseUrl(url), { connections: 1, statementTimeoutMs });
    undo.push(() => pool.close());
    return pool;
  }

  const older = async (): Promise<TestServer> => {
    const server = await startServer({ env: { ONAIR_DATA: undefined, ONAIR_DATABASE: url } });
    undo.push(() => server.stop());
    await server.load("users", [{ id: 1001, username: "ada" }]);
    return server;
  };

  const waiting = (what: string) =>
    other.run<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         AND query LIKE $1 AND pid <> pg_backend_pid()`,
      [`${what}%`],
    );
  const isWaiting = async (what: string) => (await waiting(what)).length > 0;

  test("adds columns and an index while an older one publishes, subscribes, reads and imports", async () => {
    const server = await older();
    const app = await server.application({ delivery: "stream" });
    await subscribe(server, app, ["channel.followed"]);
    let n = 0;
    const works = async () => {
      const all = await Promise.all([
        publish(server, event("channel.followed")),
        server.admin("PUT", `/admin/v1/users/${++n}`, { username: `user_${n}` }),
        server.get("/public/v1/users/ada", app.token),
        server.get("/public/v1/events/deliveries", app.token),
        server.get("/public/v1/events/subscriptions", app.token),
      ]);
      expect(all.map(({ status }) => status)).toEqual([202, 200, 200, 200, 200]);
    };
    await works();
    await other.run(gatedKey);
    await other.run(`SELECT pg_advisory_lock(${gate})`);
    const migrated = migrateDatabase(newer, [...schemaSteps, columns, index]);
    await until(() => isWaiting("CREATE INDEX CONCURRENTLY"));
    for (let i = 0; i < 10; i++) await works();
    expect(await isWaiting("CREATE INDEX CONCURRENTLY")).toBe(true);
    await other.run(`SELECT pg_advisory_unlock(${gate})`);
    await migrated;
    await works();
    expect(await validIndexes()).toEqual(["deliveries_0", "deliveries_1", "deliveries"]);
  });

  const validIndexes = async () =>
    (
      await other.run<{ name: string }>(
        `SELECT indrelid::regclass::text AS name FROM pg_index
         WHERE pg_get_indexdef(indexrelid) LIKE '%gated(%' AND indisvalid ORDER BY 1 DESC`,
      )
    )
      .map(({ name }) => name)
      .sort((a, b) => b.length - a.length || a.localeCompare(b));

  const keep = (seq: number) =>
    other.run(
      `INSERT INTO deliveries (seq, id, event_seq, event_id, type, version, broadcaster_user_id, published_at,
         application_id, subscription_id, sequence, status) VALUES ($1, '1', 1, '1', 'a', 1, 1, 0, 'a', 's', 1, 'delivered')`,
      [seq],
    );

  test("makes an index anew that was cut off", async () => {
    await keep(1);
    await other.run(gatedKey);
    await other.run(`SELECT pg_advisory_lock(${gate})`);
    const cutOff = migrateDatabase(newer, [...schemaSteps, index]).catch((error: unknown) => error);
    await until(() => isWaiting("CREATE INDEX CONCURRENTLY"));
    for (const { pid } of await waiting("CREATE INDEX"))
      await other.run("SELECT pg_cancel_backend($1)", [pid]);
    expect(await cutOff).toBeInstanceOf(Error);
    expect(await appliedSteps(other)).toBe(schemaSteps.length);
    await other.run(`SELECT pg_advisory_unlock(${gate})`);
    await migrateDatabase(newer, [...schemaSteps, index]);
    expect(await validIndexes()).toEqual(["deliveries_0", "deliveries_1", "deliveries"]);
  });

  test.each([
    ["dropped", "false", ["deliveries_0", "deliveries"]],
    ["replaced", "true", ["deliveries_0", "deliveries_1", "deliveries"]],
  ])("makes an index while another part is %s by an older version", async (_, kept, indexed) => {
    await keep(1);
    await keep(firstOfPart(1));
    await other.run(gatedKey);
    await other.run(`SELECT pg_advisory_lock(${gate})`);
    const migrated = migrateDatabase(newer, [...schemaSteps, index]);
    await until(() => isWaiting("CREATE INDEX CONCURRENTLY"));
    expect(await keepOfPart(other, "deliveries", 1, kept)).toBe(true);
    await other.run(`SELECT pg_advisory_unlock(${gate})`);
    await migrated;
    expect(await validIndexes()).toEqual(indexed);
  });

  test("waits for a long transaction in moments, so that others need not wait behind it", async () => {
    const server = await older();
    const { token } = await server.application();
    const done = Promise.withResolvers<void>();
    const holding = Promise.withResolvers<void>();
    const long = opened(0).transact(async ({ run }) => {
      await run("INSERT INTO users SELECT 9, 'nine', '', '', NULL, 0, 0, false, '', ''");
      holding.resolve();
      await done.promise;
    });
    await holding.promise;
    const migrated = migrateDatabase(newer, [...schemaSteps, columns]);
    for (let waits = 0; waits < 3; waits++) {
      await until(() => isWaiting("ALTER TABLE users"));
      expect((await server.get("/public/v1/users/ada", token)).status).toBe(200);
      await until(async () => !(await isWaiting("ALTER TABLE users")));
    }
    done.resolve();
    await Promise.all([long, migrated]);
    expect(await appliedSteps(other)).toBe(schemaSteps.length + 1);
  });

  test("is refused where the older one could not go on, until that has ended", async () => {
    const server = await older();
    const migrated = migrateDatabase(newer, [...schemaSteps, incompatible]);
    await expect(migrated).rejects.toThrow(
      "Replicas of an earlier version use the database, and cannot continue after the migration 9000_renamed. Stop them",
    );
    expect(await appliedSteps(other)).toBe(schemaSteps.length);
    await server.stop();
    await migrateDatabase(newer, [...schemaSteps, incompatible]);
    await expect(appliedSteps(other)).rejects.toThrow("newer version of onair");
  });

  test("and then an older one starts beside it, or says in one sentence why not", async () => {
    const env = { ONAIR_DATABASE: url };
    await migrateDatabase(newer, [...schemaSteps, columns]);
    const server = await older();
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    await server.stop();
    const { code, stdout } = await run(["migrate"], { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining("has the schema of onair")]);

    await migrateDatabase(newer, [...schemaSteps, columns, { ...incompatible, name: "9002_renamed" }]);
    const refused = await run(["serve", "--port", "0", "--admin-port", "0"], { env });
    expectFailure(refused, 2, "its migration 9002_renamed is unknown here). Use that version.");
  });
});
