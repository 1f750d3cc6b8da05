import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { copyToDatabase, databaseToCopy } from "../../../src/postgres/copy.ts";
import { type DataLocation, readDatabaseUrl } from "../../../src/store/location.ts";
import { deliveryPositions } from "../../../src/store/sqlite/delivery-rows.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { filledDirectory, filledTables, rowsIn } from "../../support/filled-directory.ts";
import { administer, bareDatabase, hasPostgres } from "../../support/postgres.ts";
import { run } from "../../support/process.ts";
import { event, publishAll, settled, subscribe } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { ownReceiver } from "../../support/receiver.ts";
import { Clock, json, ownDirectory, ownServer } from "../../support/server.ts";

describe.skipIf(!hasPostgres)("between a directory and PostgreSQL", () => {
  let url: string;
  let location: string;
  let env: Record<string, string>;
  beforeEach(async () => {
    const database = await bareDatabase();
    afterThisTest(database.drop);
    url = database.url;
    location = Object.assign(new URL(url), { password: "" }).href;
    env = { ONAIR_DATABASE: url };
  });
  const move = (from: string, to: string) => run(["copy", "--from", from, "--to", to], { env });
  const shown = () => {
    const { host, pathname } = new URL(url);
    return host + pathname;
  };

  test("everything is copied there and back", async () => {
    const [directory, back] = [filledDirectory(), ownDirectory()];
    const before = rowsIn(directory);
    const there = await run(["copy", "--from", directory, "--to", location, "--json"], { env });
    expect([there.code, there.stderr]).toEqual([0, expect.any(String)]);
    const { copied } = JSON.parse(there.stdout);
    expect(Object.keys(copied)).toEqual([...filledTables.keys()]);
    for (const [table, count] of Object.entries<number>(copied)) {
      expect([table, before[table]?.length]).toEqual([table, count]);
      expect(count).toBeGreaterThan(0);
    }
    expect(there.stdout).not.toContain("test@");
    const file = join(ownDirectory(), "url");
    writeFileSync(file, `${url}\n`);
    const again = await run(["copy", "--from", location, "--to", back], {
      env: { ONAIR_DATABASE_FILE: file },
    });
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`To serve it: onair serve --data ${back}\n`),
    });
    const args = ["serve", "--port", "0", "--admin-port", "0"];
    const [, undo] = /(--reopen --from \S+)\n/.exec((await run(args, { env })).stderr) ?? [];
    const reopened = await run(["copy", ...(undo?.split(" ") ?? [])], { env });
    expect(reopened.stdout).toContain("can be served again");
    expect(await move(location, back)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is not empty"),
    });
    const after = rowsIn(back);
    for (const [table, rows] of Object.entries(before)) expect([table, after[table]]).toEqual([table, rows]);
  });

  test("pending deliveries are sent by the new side only, once, under the same ids and in the same order", async () => {
    const [data, clock] = [ownDirectory(), new Clock()];
    let status = 500;
    const receiver = ownReceiver(() => new Response(null, { status }));
    const old = await ownServer({ data, clock, isOnSqlite: true, users });
    const app = await old.application({
      webhook_url: receiver.url,
      webhook_headers: { "X-Key": "s3cret" },
      // One after another, so that they arrive in order.
      webhook_concurrency: 1,
    });
    await subscribe(old, app, ["kicks.gifted"]);
    await publishAll(
      old,
      Array.from({ length: 5 }, () => event("kicks.gifted")),
    );
    await settled(old);
    await old.stop();
    const ids = (from: number) => receiver.received.slice(from).map(({ headers }) => headers["webhook-id"]);
    const firstIds = ids(0);
    expect(new Set(firstIds).size).toBe(5);
    expect(await move(data, location)).toMatchObject({ code: 0 });

    const refused = ownServer({ data, isOnSqlite: true });
    await expect(refused).rejects.toThrow(`The data of ${data} was moved to ${shown()}`);
    status = 204;
    clock.advance(60_000);
    const moved = { ONAIR_DATA: undefined, ONAIR_DATABASE: url };
    const server = await ownServer({ clock, isOnSqlite: true, env: moved });
    await receiver.arrived(10);
    await publishAll(server, [event("kicks.gifted")]);
    await receiver.arrived(11);
    await settled(server);
    expect(ids(5).slice(0, 5)).toEqual(firstIds);
    expect(receiver.received.map(({ headers }) => headers["onair-sequence"]).slice(5)).toEqual([..."123456"]);
    expect(receiver.received.length).toBe(11);
    expect(new Set(receiver.received.map(({ headers }) => headers["x-key"]))).toEqual(new Set(["s3cret"]));

    // A database that a server uses cannot be a source.
    const used = await move(location, join(data, "back"));
    expect([used.code, used.stderr]).toEqual([1, expect.stringContaining("A server uses the database")]);
    expect(existsSync(join(data, "back/onair.db"))).toBe(false);
    expect((await server.admin("GET", "/admin/v1/applications")).status).toBe(200);

    // On the way back numbers and order go on from those of PostgreSQL.
    await server.stop();
    const back = ownDirectory();
    expect(await move(location, back)).toMatchObject({ code: 0 });
    const again = await ownServer({ data: back, clock, isOnSqlite: true });
    await publishAll(again, [event("kicks.gifted"), event("kicks.gifted")]);
    await receiver.arrived(13);
    await settled(again);
    expect(receiver.received.map(({ headers }) => headers["onair-sequence"]).slice(11)).toEqual(["7", "8"]);
    const logged = await json<{ data: { sequence: number; status: string }[] }>(
      await again.admin("GET", "/admin/v1/deliveries"),
    );
    expect(logged.data.map(({ sequence }) => sequence)).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
    expect(new Set(logged.data.map(({ status }) => status))).toEqual(new Set(["delivered"]));
  });

  test("no number of a delivery is given again, even where all deliveries were removed", async () => {
    const back = ownDirectory();
    expect(await move(filledDirectory(), location)).toMatchObject({ code: 0 });
    await administer(url, "DELETE FROM deliveries");
    await administer(url, "SELECT setval('delivery_numbers', last_value + 10) FROM delivery_numbers");
    const [given] = await administer<{ last: number }>(
      url,
      "SELECT last_value::float8 AS last FROM delivery_numbers",
    );
    expect(await move(location, back)).toMatchObject({ code: 0 });
    const db = new Database(join(back, "onair.db"), { readonly: true });
    expect(deliveryPositions(drizzle(db)).last()).toBe(given?.last ?? 0);
    db.close();
  });

  test("deliveries are found by time, also those of a minute before the clock was set back", async () => {
    const directory = filledDirectory();
    const db = new Database(join(directory, "onair.db"));
    db.run("DELETE FROM deliveries");
    db.run("DELETE FROM events");
    for (const [at, minute] of [10, 12, 11].entries()) {
      const seq = at + 1;
      db.run("INSERT INTO events VALUES (?1, ?1, 'kicks.gifted', 1, 1, NULL, x'00', ?1, 1, ?2 * 60000)", [
        seq,
        minute,
      ]);
      db.run(
        `INSERT INTO deliveries (seq, id, event_seq, application_id, subscription_id, sequence, status, attempts)
         VALUES (?1, ?1, ?1, 'app', 'sub', ?1, 'delivered', 0)`,
        [seq],
      );
    }
    db.close();
    expect(await move(directory, location)).toMatchObject({ code: 0 });
    const times = "SELECT (at / 60000)::int AS minute, seq::int FROM delivery_times ORDER BY at";
    expect(await administer<{ minute: number; seq: number }>(url, times)).toEqual([
      { minute: 10, seq: 1 },
      { minute: 11, seq: 2 },
      { minute: 12, seq: 2 },
    ]);
  });

  /** Copies in a process that kills itself after this many batches. Returns true if the copy was complete before. */
  async function killedAfter(batches: number, from: DataLocation, to: DataLocation): Promise<boolean> {
    const copying = join(import.meta.dir, "../../../src/cli/copy.ts");
    const opening = join(import.meta.dir, "../../../src/server/storage-at.ts");
    const script = `
      const { copyData } = await import(${JSON.stringify(copying)});
      const { storageAt } = await import(${JSON.stringify(opening)});
      const [from, to] = await Promise.all(${JSON.stringify([from, to])}.map(storageAt));
      let batches = -1;
      const copied = () => ++batches === ${batches} && process.kill(process.pid, "SIGKILL");
      await copyData(from, to, copied);`;
    const child = Bun.spawn([process.execPath, "-e", script]);
    await child.exited;
    return child.exitCode === 0;
  }

  const inDatabase = (): DataLocation => ({ database: { url, direct: null, connections: 1 } });

  const isRefused = async (environment: Record<string, string>, message: string) => {
    const serve = ["serve", "--port", "0", "--admin-port", "0"];
    const { code, stderr } = await run(serve, { env: environment });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  };

  /** A directory with more users than one batch. */
  const filledWithUsers = () => {
    const directory = filledDirectory();
    const db = new Database(join(directory, "onair.db"));
    db.run(
      `INSERT INTO users SELECT 1000 + value, 'user' || value, 'User', '', null, value, 0, 0, '2026-01-14T16:08:06.123Z'
       FROM json_each(?)`,
      [JSON.stringify(Array.from({ length: 1_200 }, (_, n) => n))],
    );
    db.close();
    return directory;
  };

  test("a killed copy is begun again with the same command, in both directions", async () => {
    const [directory, back] = [filledWithUsers(), ownDirectory()];
    const before = rowsIn(directory);
    const isUnfinished = "a copy to it is running or was interrupted. Begin the same onair copy again";
    expect(await killedAfter(9, { directory }, inDatabase())).toBe(false);
    await isRefused(env, isUnfinished);
    await isRefused({ ONAIR_DATA: directory }, `onair copy --reopen --from ${directory}`);
    for (const args of [["migrate"], ["export", "users"], ["copy", "--from", location, "--to", back]]) {
      const { code, stderr } = await run(args, { env });
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(isUnfinished)]);
    }
    // Another target is refused, because the first one may be in use.
    expect(await move(directory, back)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--reopen"),
    });
    expect(await move(directory, location)).toMatchObject({ code: 0 });

    expect(await killedAfter(9, inDatabase(), { directory: back })).toBe(false);
    expect(existsSync(join(back, "onair.db"))).toBe(false);
    await isRefused({ ONAIR_DATA: back }, "a part of an interrupted copy: begin the same onair copy again");
    expect(await move(location, back)).toMatchObject({ code: 0 });
    expect(readdirSync(back).filter((file) => file.includes("copying"))).toEqual([]);
    const after = rowsIn(back);
    for (const [table, rows] of Object.entries(before)) expect([table, after[table]]).toEqual([table, rows]);
  });

  // Whether a commit that failed has taken effect may be unknown.
  test.each([
    ["rows are added", "TRIGGER refuse AFTER INSERT ON statistics", 0],
    ["it commits", "CONSTRAINT TRIGGER refuse AFTER INSERT ON statistics DEFERRABLE INITIALLY DEFERRED", 1],
  ])("a fault while %s leaves the target empty", async (_, trigger, marks) => {
    const directory = filledWithUsers();
    await run(["migrate"], { env });
    await administer(
      url,
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room'; END $$",
    );
    await administer(url, `CREATE ${trigger} FOR EACH ROW EXECUTE FUNCTION refuse()`);
    const failed = await move(directory, location);
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringMatching(
        /no room\. The copy was interrupted: run the same command to begin it again\.\n$/,
      ),
    ]);
    const db = new Database(join(directory, "onair.db"));
    expect(db.query("SELECT key FROM settings WHERE key = 'moved_to'").all()).toHaveLength(marks);
    db.close();
    const empty =
      "SELECT (SELECT count(*) FROM users)::int AS users, (SELECT count(*) FROM settings)::int AS settings, last_value::int, is_called FROM delivery_numbers";
    expect(await administer(url, empty)).toEqual([
      { users: 0, settings: 0, last_value: 1, is_called: false },
    ]);
    await administer(url, "DROP TRIGGER refuse ON statistics");
    expect(await move(directory, location)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        "To serve it: onair serve, with the same ONAIR_DATABASE or ONAIR_DATABASE_FILE\n",
      ),
    });
  });

  test("a database of a running copy is refused by other copies, --reopen and servers", async () => {
    const [directory, other, back] = [filledDirectory(), filledDirectory(), ownDirectory()];
    const isRunning = { code: 1, stderr: expect.stringMatching(/A copy of the database .* is running/) };
    await copyToDatabase(readDatabaseUrl(url), [], async () => {
      await isRefused(env, "a copy to it is running");
      expect(await move(location, back)).toMatchObject({ code: 2 });
      expect(await move(other, location)).toMatchObject(isRunning);
    });
    expect(await move(directory, location)).toMatchObject({ code: 0 });

    const source = await databaseToCopy(readDatabaseUrl(url));
    expect(await run(["copy", "--reopen", "--from", location], { env })).toMatchObject(isRunning);
    for (const to of [back, ownDirectory()]) expect(await move(location, to)).toMatchObject(isRunning);
    await source.close();
    expect(await move(location, back)).toMatchObject({ code: 0 });
  });

  test("an invalid source or target is refused in one sentence, and the source is unchanged", async () => {
    const directory = filledDirectory();
    const before = rowsIn(directory);
    const refusedWith = async (from: string, to: string, code: number, message: string) => {
      const refused = await move(from, to);
      expect([refused.code, refused.stdout]).toEqual([code, ""]);
      expect(refused.stderr).toContain(message);
      expect(refused.stderr).not.toContain("test@");
      expect(rowsIn(directory)).toEqual(before);
    };
    await refusedWith(location, ownDirectory(), 2, "There is no data in the database");
    const server = await ownServer({ data: directory, isOnSqlite: true, env: { ONAIR_DATA: directory } });
    const used = await move(directory, location);
    expect([used.code, used.stderr]).toEqual([1, expect.stringContaining("is in use by process")]);
    await server.stop();
    Object.assign(before, rowsIn(directory));

    await refusedWith(directory, directory, 1, "is in use by process");
    const full = filledDirectory();
    await refusedWith(directory, full, 2, `${full} is not empty`);
    await run(["migrate"], { env });
    await administer(url, "INSERT INTO tags VALUES (1, 'there')");
    await refusedWith(directory, location, 2, `The database ${shown()} is not empty`);
    await administer(url, "DELETE FROM tags");
    await administer(url, "INSERT INTO onair_migrations VALUES (999, '0999_newer', '')");
    await refusedWith(directory, location, 2, "was written by a newer version of onair");
    await refusedWith(location, ownDirectory(), 2, "was written by a newer version of onair");
    const db = new Database(join(directory, "onair.db"));
    db.run("INSERT INTO migrations VALUES (999, '0999_newer', '')");
    db.close();
    await refusedWith(directory, ownDirectory(), 1, "was written by a newer version of onair");

    await administer(url, "UPDATE onair_migrations SET name = '0999_newer.additive' WHERE number = 999");
    const additions = "has additions of a newer version of onair (its migration 0999_newer.additive)";
    await refusedWith(location, ownDirectory(), 2, additions);
    const same = new Database(join(directory, "onair.db"));
    same.run("UPDATE migrations SET name = '0999_newer.additive' WHERE number = 999");
    same.close();
    await refusedWith(directory, ownDirectory(), 2, additions);
  });
});
