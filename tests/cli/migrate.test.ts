import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { migrations } from "../../src/store/sqlite/migrations.ts";
import { schemaState } from "../../src/store/sqlite/open.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { inDatabase, sha256 } from "../support/backups.ts";
import { expectFailure, printedJson, run } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { ownServer, testDirectory } from "../support/server.ts";

const directory = testDirectory();
const path = (...names: string[]) => join(directory, ...names);
const onair = (...args: string[]) => run(["migrate", ...args]);
const newest = migrations.at(-1)?.name ?? "";

let data: string;
let made = 0;
beforeEach(() => {
  data = path(`data${made++}`);
});

const rows = users.map((user) => ({ ...user, profile_picture: null, following_count: 0, created_at: null }));

/** A data directory with users. */
async function withUsers(): Promise<void> {
  const store = openStore(data);
  await store.users.upsert(rows, "2020-01-01T00:00:00Z");
  await store.close();
  // Closes the statements, so that the log is removed.
  Bun.gc(true);
}

/** The files of the directory with everything that a change would alter. */
const traces = () =>
  readdirSync(data)
    .sort()
    .map((name) => [name, statSync(join(data, name)).mtimeMs, sha256(readFileSync(join(data, name)))]);

test("--dry-run lists the migrations and changes nothing", async () => {
  await withUsers();
  const before = traces();
  expect(await printedJson<object>(["migrate", "--data", data, "--dry-run"])).toEqual({
    data,
    version: expect.stringMatching(/^\d/),
    dry_run: true,
    from: newest,
    to: newest,
    migrations: migrations.map(({ name }) => ({ name, state: "applied" })),
    search_index: "ready",
    users: users.length,
    backup: null,
  });
  const told = await onair("--data", data, "--dry-run");
  expect([told.code, told.stdout]).toEqual([0, expect.stringMatching(/applied +0000_start\n/)]);
  expect(traces()).toEqual(before);
});

test("does nothing where nothing is pending", async () => {
  await withUsers();
  const { code, stdout, stderr } = await onair("--data", data);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`${data} has the schema of onair`);
  expect(stdout).not.toMatch(/migrated|pending/);
  expect(statSync(join(data, "onair.db")).mode & 0o777).toBe(0o600);
});

test("--backup keeps a copy of the database that only its owner can read", async () => {
  await withUsers();
  const file = path("before.db");
  const { code, stdout, stderr } = await onair("--data", data, "--backup", file);
  expect([code, stdout]).toEqual([0, expect.stringContaining(`The backup from before is in ${file}`)]);
  expect(stderr).not.toContain("only way back");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory).filter((name) => name.startsWith("before"))).toEqual(["before.db"]);
  const kept = inDatabase(file, schemaState);
  expect([kept.applied.at(-1), kept.users]).toEqual([newest, users.length]);
  expectFailure(await onair("--data", data, "--backup", file), 2, `${file} exists`);
});

test("--rebuild-search restores users that the index has lost", async () => {
  await withUsers();
  const db = new Database(join(data, "onair.db"));
  db.run("INSERT INTO user_search (user_search) VALUES ('delete-all')");
  db.run("INSERT INTO user_search (rowid, username, display_name, start) VALUES (1, 'xyz', '', '')");
  db.close(true);
  const found = async () => {
    const opened = openStore(data);
    const names = (await opened.users.search("riot", 100)).users.map(({ username }) => username);
    await opened.close();
    return names;
  };
  expect(await found()).toEqual([]);
  const rebuilt = await printedJson<object>(["migrate", "--data", data, "--rebuild-search"]);
  expect(rebuilt).toMatchObject({ search_index: "migrated", users: users.length });
  expect(await found()).toEqual(expect.arrayContaining(["riotgames"]));
});

test("--backup is refused while another program reads, because part of the data is then only in the WAL", async () => {
  await withUsers();
  using reader = new Database(join(data, "onair.db"), { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM users").get();
  using writer = new Database(join(data, "onair.db"));
  writer.run("INSERT INTO settings (key, value) VALUES ('late', 'acknowledged')");
  const file = path("read.db");
  expectFailure(await onair("--data", data, "--backup", file), 1, "is being read by another program");
  expect(existsSync(file)).toBe(false);
  reader.run("COMMIT");
  expect((await onair("--data", data, "--backup", file)).code).toBe(0);
  const late = "SELECT value FROM settings WHERE key = 'late'";
  expect(inDatabase(file, (db) => db.query(late).all())).toHaveLength(1);
});

describe("changes nothing", () => {
  const refused = async (message: string, ...args: string[]) => {
    const before = existsSync(data) ? traces() : null;
    expectFailure(await onair("--data", data, ...args), 1, message);
    const after = existsSync(data) ? traces() : null;
    expect(after?.filter(([name]) => name === "onair.db")).toEqual(
      before?.filter(([name]) => name === "onair.db"),
    );
  };

  test.each([[[]], [["--dry-run"]], [["--backup", path("newer.db")]]])(
    "of a database of a newer version: %j",
    async (args) => {
      await openStore(data).close();
      Bun.gc(true);
      const db = new Database(join(data, "onair.db"));
      db.run("INSERT INTO migrations (number, name, hash) VALUES (999, '0999_future', 'x')");
      db.close(true);
      await refused("written by a newer version of onair (its migration 0999_future", ...args);
      expect(existsSync(path("newer.db"))).toBe(false);
    },
  );

  test("of another program's database", async () => {
    mkdirSync(data);
    const db = new Database(join(data, "onair.db"));
    db.run("CREATE TABLE notes (id)");
    db.close(true);
    await refused("not one of onair");
    await refused("not one of onair", "--dry-run");
  });

  test("while a server runs there, except that --dry-run works", async () => {
    await ownServer({ data });
    const { code, stdout, stderr } = await onair("--data", data);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`in use by process ${process.pid}`);
    const beside = await onair("--data", data, "--dry-run");
    expect([beside.code, beside.stdout]).toEqual([0, expect.stringContaining("has the schema of onair")]);
  });
});

test.each<[string[], string]>([
  [["--data", "nowhere-at-all"], "There is no data in nowhere-at-all"],
  [["now"], '"now" is not expected here'],
  [["--dry-run", "--backup", "x.db"], "--dry-run changes nothing"],
  [["--backup", "no/such/directory/x.db"], "There is no directory no/such/directory"],
])("wrong usage: %j", async (args, message) => {
  expectFailure(await onair(...args), 2, message);
  expect(existsSync("nowhere-at-all")).toBe(false);
});
