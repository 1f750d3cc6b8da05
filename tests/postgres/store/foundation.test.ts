import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { StoreError } from "../../../src/domain/store.ts";
import { explainedFault } from "../../../src/postgres/faults.ts";
import { appliedSteps, migrateDatabase, schemaSteps } from "../../../src/postgres/migrations.ts";
import type { Queries } from "../../../src/postgres/pool.ts";
import { openPool, type Postgres } from "../../../src/postgres/pool.ts";
import { openPostgres, openPostgresReader } from "../../../src/postgres/store.ts";
import { hashOf } from "../../../src/store/applied-migrations.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { bareDatabase, emptyDatabase, hasPostgres, ownPostgres } from "../../support/postgres.ts";
import { expectFailure, run } from "../../support/process.ts";
import { startServer } from "../../support/server.ts";
import { newEvent, subscriber } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (let step = undo.pop(); step; step = undo.pop()) await step();
});

async function opened(url: string, connections = 2) {
  const pool = await openPostgres(readDatabaseUrl(url), { connections });
  undo.push(() => pool.close());
  return pool;
}

async function bare(options?: string): Promise<string> {
  const database = await bareDatabase(options);
  undo.push(database.drop);
  return database.url;
}

const refusal = (url: string) =>
  opened(url).then(
    () => "opened",
    (error) => (error instanceof StoreError ? error.message : error),
  );

test("every file of drizzle/postgres is listed, in order", async () => {
  const directory = new URL("../../../drizzle/postgres", import.meta.url).pathname;
  const files = [...new Bun.Glob("*.sql").scanSync(directory)].sort();
  expect(schemaSteps.map(({ name }) => `${name}.sql`)).toEqual(files);
});

describe.skipIf(!hasPostgres)("opening a database", () => {
  test("brings an empty one to the newest form; several at once do it once", async () => {
    const url = await bare();
    const pools = await Promise.all([opened(url), opened(url), opened(url), opened(url)]);
    const applied = await pools[0]?.run<{ name: string }>(
      "SELECT name FROM onair_migrations ORDER BY number",
    );
    expect(applied?.map(({ name }) => name)).toEqual(schemaSteps.map(({ name }) => name));
  });

  test("makes its tables where the search_path says", async () => {
    const url = await bare();
    const { SQL } = await import("bun");
    const sql = new SQL(url, { max: 1 });
    await sql`CREATE SCHEMA streams`;
    const [{ name }] = await sql`SELECT current_database() AS name`;
    await sql.unsafe(`ALTER DATABASE ${name} SET search_path = streams`);
    await sql.close();
    const pool = await opened(url);
    const tables =
      "SELECT DISTINCT schemaname AS name FROM pg_tables WHERE tablename IN ('users', 'deliveries')";
    expect(await pool.run(tables)).toEqual([{ name: "streams" }]);
  });

  test("refuses one of a newer version, and one of another build", async () => {
    const url = await bare();
    const pool = await opened(url);
    await pool.run("INSERT INTO onair_migrations VALUES (999, '0999_later', 'x')");
    expect(await refusal(url)).toContain("newer version of onair (its migration 0999_later is unknown here)");
    await pool.run("DELETE FROM onair_migrations WHERE number = 999");
    await pool.run("UPDATE onair_migrations SET hash = 'x' WHERE number = 0");
    expect(await refusal(url)).toContain("a build of onair with another schema (its migration 0000_start");
  });

  test("refuses one with tables of another program, and changes nothing", async () => {
    const url = await bare();
    const pool = await opened(await bare());
    expect(await refusal(url)).toBe("opened");
    await pool.run("DROP TABLE onair_migrations");
    const foreign = await bare();
    const { SQL } = await import("bun");
    const sql = new SQL(foreign, { max: 1 });
    await sql`CREATE TABLE invoices (id int)`;
    expect(await refusal(foreign)).toContain("tables of another program, such as invoices");
    expect(await sql`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`).toHaveLength(
      1,
    );
    await sql.close();
  });

  test("takes tables that another process makes between two looks for its own", async () => {
    const found = [[{ is_there: false }], [{ name: "users", database: "onair" }], [{ is_there: true }]];
    const applied = schemaSteps.map((step) => ({ name: step.name, hash: hashOf(step) }));
    const run = async () => (found.shift() ?? applied) as never[];
    expect(await appliedSteps({ run } as unknown as Queries)).toBe(schemaSteps.length);
  });

  test("refuses another encoding", async () => {
    const url = await bare("ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    expect(await refusal(url)).toContain("has the encoding LATIN1; onair needs UTF8");
  });

  test("says which right is missing", async () => {
    const url = await bare();
    const owner = await opened(await bare());
    const role = `nobody_${process.pid}`;
    await owner.run(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
    undo.push(() => owner.run(`DROP ROLE ${role}`));
    const as = Object.assign(new URL(url), { username: role, password: "x" }).href;
    expect(await refusal(as)).toContain(`GRANT CREATE, USAGE ON SCHEMA public TO ${role}`);
  });

  test.each([
    [
      "a wrong password",
      (url: URL) => Object.assign(url, { password: "hunter2" }),
      "refuses the role postgres",
    ],
    ["a database that is not there", (url: URL) => Object.assign(url, { pathname: "/nowhere" }), "createdb"],
    ["a server that is not there", (url: URL) => Object.assign(url, { port: "1" }), "cannot be reached"],
  ])("explains %s without the password", async (_, change, message) => {
    const said = await refusal(change(new URL(await bare())).href);
    expect(said).toContain(message);
    expect(said).not.toContain("hunter2");
  });
});

describe.skipIf(!hasPostgres)("a pool", () => {
  const filled = async (connections = 4) => {
    const database = await emptyDatabase();
    undo.push(database.drop);
    return { pool: await opened(database.url, connections), url: database.url };
  };

  test("undoes a transaction whose work rejects", async () => {
    const { pool } = await filled();
    const put = (key: string) => `INSERT INTO settings VALUES ('${key}', 'x')`;
    await pool.transact(({ run }) => run(put("kept")));
    const failing = pool.transact(async ({ run }) => {
      await run(put("undone"));
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await pool.run("SELECT key FROM settings")).toEqual([{ key: "kept" }]);
  });

  test("of a process that was suspended in a transaction, until the server ended it: the caller gets 503", async () => {
    const { pool } = await filled();
    const suspended = pool.transact(async ({ run }) => {
      await run("SET LOCAL idle_in_transaction_session_timeout = 20");
      Bun.sleepSync(300);
      await run("SELECT 1");
    });
    const error = await suspended.catch((thrown: unknown) => explainedFault(thrown, () => {}));
    expect(error).toMatchObject({ code: "unavailable", cause: { errno: "25P03" } });
    expect(await pool.run("SELECT 1 AS n")).toEqual([{ n: 1 }]);
  });

  test("repeats a transaction that a deadlock has undone", async () => {
    const { pool } = await filled();
    await pool.run("INSERT INTO settings VALUES ('a', '0'), ('b', '0')");
    const up = "UPDATE settings SET value = (value::int + 1)::text WHERE key = $1";
    let waiting = 0;
    const both = (first: string, second: string) =>
      pool.transact(async ({ run }) => {
        await run(up, [first]);
        waiting++;
        await until(() => waiting >= 2);
        await run(up, [second]);
      });
    await pool.run(
      `ALTER DATABASE ${(await pool.run<{ d: string }>("SELECT current_database() d"))[0]?.d} SET deadlock_timeout = '50ms'`,
    );
    await Promise.all([both("a", "b"), both("b", "a")]);
    expect(await pool.run("SELECT value FROM settings")).toEqual([{ value: "2" }, { value: "2" }]);
  });

  test("goes on when the server has ended its connections", async () => {
    const { pool, url } = await filled();
    const other = await opened(url);
    await pool.run("SELECT 1");
    await other.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    await Bun.sleep(50);
    expect(await pool.run("SELECT 1 AS n")).toEqual([{ n: 1 }]);
  });

  test("of a reader takes no writes", async () => {
    const { pool, url } = await filled();
    await pool.run("INSERT INTO settings VALUES ('a', '1')");
    const reader = openPostgresReader(readDatabaseUrl(url), { connections: 1 });
    undo.push(() => reader.close());
    expect(await reader.settings.get("a")).toBe("1");
    await expect(reader.settings.put("a", "2")).rejects.toMatchObject({ code: "unavailable" });
    expect(await reader.settings.get("a")).toBe("1");
  });

  test("connects anew where the server has come to refuse writes, as a primary that became a standby", async () => {
    const { pool } = await filled(1);
    const pidOf = async () => (await pool.run<{ pid: number }>("SELECT pg_backend_pid() AS pid"))[0]?.pid;
    const before = await pidOf();
    await pool.run("SET default_transaction_read_only = on");
    const refused = pool.run("INSERT INTO settings VALUES ('a', '1')");
    await expect(refused).rejects.toMatchObject({ errno: "25006" });
    await until(() =>
      pidOf().then(
        (pid) => pid !== before,
        () => false,
      ),
    );
    await pool.run("INSERT INTO settings VALUES ('a', '1')");
  });
});

/*
 * A version beside the one before it on one database. Here the older one is this one, and the newer one has more
 * migrations.
 */

const second = {
  name: "9000_second",
  sql: `ALTER TABLE users ADD COLUMN motto text NOT NULL DEFAULT 'hello';
--> statement-breakpoint
ALTER TABLE users RENAME COLUMN bio TO about`,
};

describe.skipIf(!hasPostgres)("a newer version", () => {
  let url: string;
  let newer: Postgres;
  const undo: (() => Promise<unknown>)[] = [];

  beforeEach(async () => {
    const database = await emptyDatabase();
    url = database.url;
    newer = openPool(readDatabaseUrl(url), { connections: 1, statementTimeoutMs: 0 });
    undo.push(database.drop, () => newer.close());
  });
  afterEach(async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  });

  test("is refused until the older ones are stopped, then keeps the data, and the older one is refused", async () => {
    const older = await startServer({ env: { ONAIR_DATA: undefined, ONAIR_DATABASE: url } });
    undo.push(() => older.stop());
    await older.load("users", [{ id: 1001, username: "ada" }]);
    await expect(migrateDatabase(newer, [...schemaSteps, second])).rejects.toThrow(
      "A server of an earlier version uses the database, or ended within the last seconds: stop all of them, and start this one again.",
    );
    expect(await appliedSteps(newer)).toBe(schemaSteps.length);
    const { token } = await older.application();
    expect((await older.get("/public/v1/users/ada", token)).status).toBe(200);
    await older.stop();

    const steps = [...schemaSteps, second];
    const names: string[] = [];
    await migrateDatabase(newer, steps, (name) => names.push(name));
    await migrateDatabase(newer, steps, (name) => names.push(name));
    expect(names).toEqual([second.name]);
    expect(await newer.run("SELECT username, motto, about FROM users")).toEqual([
      { username: "ada", motto: "hello", about: "" },
    ]);
    for (const args of [["serve", "--port", "0", "--admin-port", "0"], ["migrate"]]) {
      const refused = await run(args, { env: { ONAIR_DATABASE: url } });
      expectFailure(
        refused,
        2,
        "its migration 9000_second is unknown here). Use that version, or restore a dump from before the upgrade.",
      );
    }
  });

  test("applies all of its migrations or none", async () => {
    const broken = { name: "9001_broken", sql: "ALTER TABLE nowhere ADD COLUMN x text" };
    await expect(migrateDatabase(newer, [...schemaSteps, second, broken])).rejects.toThrow("nowhere");
    expect(await appliedSteps(newer)).toBe(schemaSteps.length);
    expect(await newer.run("SELECT bio FROM users")).toEqual([]);
  });
});

const event = (id: string, name: string) => newEvent(id, { name, body: `{"id":"${id}"}` });

test.skipIf(!hasPostgres)("an event without a subscriber keeps no body, also among others", async () => {
  const { store, pool } = await ownPostgres();
  await subscriber(store);
  const events = [
    event("unwanted", "kicks.gifted"),
    event("wanted", "channel.followed"),
    event("unwanted, too", "kicks.gifted"),
  ];
  await store.events.publishAll(events, () => false);
  expect(await store.events.publish(event("unwanted", "kicks.gifted"), () => false)).toMatchObject({
    deliveries: 0,
  });
  expect(await pool.run("SELECT body FROM events")).toEqual([{ body: '{"id":"wanted"}' }]);
});
