import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copiedNouns } from "../../../src/domain/copy.ts";
import { copyData } from "../../../src/operations/copy.ts";
import { copyingFromDatabase } from "../../../src/postgres/copy.ts";
import { readDatabaseUrl } from "../../../src/store/database-url.ts";
import type { DataLocation } from "../../../src/store/location.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { filledDirectory, rowsIn } from "../../support/filled-directory.ts";
import { administer, bareDatabase, hasPostgres } from "../../support/postgres.ts";
import { run } from "../../support/process.ts";
import { event, publishAll, settled, subscribe } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { ownReceiver } from "../../support/receiver.ts";
import { Clock, ownDirectory, ownServer } from "../../support/server.ts";

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
    for (const noun of [...copiedNouns, "attempts"]) {
      expect([noun, copied[noun], before[noun]?.length]).toEqual([noun, expect.any(Number), copied[noun]]);
      expect(copied[noun]).toBeGreaterThan(0);
    }
    expect(there.stdout).not.toContain("test@");
    expect(await move(location, back)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`To serve it: onair serve --data ${back}\n`),
    });
    for (const [from, to] of [
      [directory, location],
      [location, back],
    ] as const) {
      const again = await move(from, to);
      const since = /was completed at (\S+); nothing was copied now\. To serve it: onair serve/;
      expect([again.code, again.stderr]).toEqual([0, ""]);
      expect(Date.now() - Date.parse(since.exec(again.stdout)?.[1] ?? "")).toBeWithin(-1_000, 3_600_000);
    }
    const told = await run(["copy", "--from", directory, "--to", location, "--json"], { env });
    expect(JSON.parse(told.stdout)).toMatchObject({ copied: null, completed_at: expect.any(String) });
    const args = ["serve", "--port", "0", "--admin-port", "0"];
    const [, undo] = /(--reopen --from \S+)\n/.exec((await run(args, { env })).stderr) ?? [];
    const reopened = await run(["copy", ...(undo?.split(" ") ?? [])], { env });
    expect(reopened.stdout).toContain("can be served again");
    // Its source has been used since, so this would be another copy.
    expect(await move(location, back)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is not empty"),
    });
    const after = rowsIn(back);
    for (const [noun, rows] of Object.entries(before)) expect([noun, after[noun]]).toEqual([noun, rows]);
  });

  test("pending deliveries are sent by the new side only, once, under the same ids and in the same order", async () => {
    const [data, clock] = [ownDirectory(), new Clock()];
    let status = 500;
    const receiver = ownReceiver(() => new Response(null, { status }));
    const old = await ownServer({ data, clock, isOnSqlite: true, users });
    const app = await old.application({ webhook_url: receiver.url, webhook_headers: { "X-Key": "s3cret" } });
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
  });

  /** Copies in a process that kills itself after this many batches. Returns true if the copy was complete before. */
  async function killedAfter(batches: number, from: DataLocation, to: DataLocation): Promise<boolean> {
    const copying = join(import.meta.dir, "../../../src/operations/copy.ts");
    const script = `
      const { copyData } = await import(${JSON.stringify(copying)});
      let batches = 0;
      const copied = () => ++batches === ${batches} && process.kill(process.pid, "SIGKILL");
      await copyData(${JSON.stringify(from)}, ${JSON.stringify(to)}, { counted() {}, copied });`;
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

  test("a killed copy resumes where it stopped, in both directions", async () => {
    const [directory, back] = [filledWithUsers(), ownDirectory()];
    const before = rowsIn(directory);
    const [data, database] = [{ directory }, inDatabase()];
    let kills = 0;
    while (!(await killedAfter(6, data, database))) {
      kills++;
      // Neither side can be served until it is complete.
      if (kills !== 2) continue;
      await isRefused(env, "has a part of an interrupted copy");
      await isRefused({ ONAIR_DATA: directory }, `onair copy --reopen --from ${directory}`);
    }
    expect(kills).toBeGreaterThan(2);
    kills = 0;
    while (!(await killedAfter(6, database, { directory: back }))) {
      kills++;
      expect(existsSync(join(back, "onair.db"))).toBe(false);
    }
    expect(kills).toBeGreaterThan(2);
    expect(readdirSync(back).filter((file) => file.includes("copying"))).toEqual([]);
    const after = rowsIn(back);
    for (const [noun, rows] of Object.entries(before)) expect([noun, after[noun]]).toEqual([noun, rows]);
  });

  test("rows copied before a fault stay, and the error says how to resume", async () => {
    const directory = filledWithUsers();
    await run(["migrate"], { env });
    const usersThere = async () => {
      const [row] = await administer<{ n: number }>(url, "SELECT count(*)::int AS n FROM users");
      return row?.n;
    };
    const once =
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room'; END $$";
    const refuse = (id: number) =>
      `CREATE TRIGGER refuse${id} BEFORE INSERT ON users FOR EACH ROW WHEN (NEW.id = ${id}) EXECUTE FUNCTION refuse()`;
    await administer(url, once);
    await administer(url, refuse(2_100));
    const failed = await move(directory, location);
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringMatching(
        /no room\. The copy was interrupted: run the same command to continue it\. .* --reopen --from /,
      ),
    ]);
    expect(await usersThere()).toBe(1_000);
    // A part of the data is not copied on as if it were all.
    const back = ownDirectory();
    const refused = await move(location, back);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("has a part of an interrupted copy: continue it"),
    ]);
    expect(existsSync(join(back, "onair.db"))).toBe(false);
    // Existing rows are not copied again.
    await administer(url, "DROP TRIGGER refuse2100 ON users");
    await administer(url, refuse(1_001));
    expect(await move(directory, location)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        "To serve it: onair serve, with the same ONAIR_DATABASE or ONAIR_DATABASE_FILE\n",
      ),
    });
    expect(await usersThere()).toBe(rowsIn(directory)["users"]?.length);
  });

  test("a partial copy is discarded when its source was used in between", async () => {
    const [directory, back] = [filledDirectory(), ownDirectory()];
    await killedAfter(12, { directory }, inDatabase());
    const reopened = await run(["copy", "--reopen", "--from", directory]);
    expect(reopened.stdout).toContain("can be served again");
    const refused = await move(directory, location);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("has a part of another copy"),
    ]);
    // The copy was refused, so the source is not marked.
    const again = await run(["copy", "--reopen", "--from", directory]);
    expect(again.stdout).toContain("was not marked");

    await killedAfter(12, { directory }, { directory: back });
    await run(["copy", "--reopen", "--from", directory]);
    const db = new Database(join(directory, "onair.db"));
    db.run("DELETE FROM settings WHERE key LIKE 'key 1%'");
    db.close();
    expect(await move(directory, back)).toMatchObject({ code: 0 });
    expect(rowsIn(back)).toEqual(rowsIn(directory));
  });

  test("a copy id without a mark in the source, as earlier versions left it, does not resume that copy", async () => {
    const [directory, back] = [filledDirectory(), ownDirectory()];
    await killedAfter(12, { directory }, { directory: back });
    const db = new Database(join(directory, "onair.db"));
    db.run("DELETE FROM settings WHERE key = 'moved_to' OR key LIKE 'key 1%'");
    db.close();
    expect(await move(directory, back)).toMatchObject({ code: 0 });
    expect(rowsIn(back)).toEqual(rowsIn(directory));
  });

  test("of two concurrent copies to different destinations one is refused", async () => {
    expect(await move(filledDirectory(), location)).toMatchObject({ code: 0 });
    const copyTo = (directory: string) =>
      copyData(inDatabase(), { directory }, { counted() {}, copied() {} }).then(
        () => "copied",
        (error) => String(error),
      );
    const results = await Promise.all([ownDirectory(), ownDirectory()].map(copyTo));
    expect(results.toSorted()).toEqual([expect.stringContaining(`${shown()} was moved to`), "copied"]);
  });

  test("a database that is being copied can neither be reopened nor copied again", async () => {
    await run(["migrate"], { env });
    const back = ownDirectory();
    const refused = await copyingFromDatabase(readDatabaseUrl(url), back, async (source) => {
      source.keepMark();
      return [await run(["copy", "--reopen", "--from", location], { env }), await move(location, back)];
    });
    for (const { code, stderr } of refused)
      expect([code, stderr]).toEqual([1, expect.stringMatching(/A copy of the database .* is running/)]);
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
  });

  test("a password may come from a file", async () => {
    const file = join(ownDirectory(), "url");
    writeFileSync(file, `${url}\n`);
    const args = ["--from", filledDirectory(), "--to", location];
    expect(await run(["copy", ...args], { env: { ONAIR_DATABASE_FILE: file } })).toMatchObject({ code: 0 });
  });
});
