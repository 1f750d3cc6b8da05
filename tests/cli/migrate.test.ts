import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { look, schemaState } from "../../src/store/sqlite/database/look.ts";
import { migrate as applyMigrations, migrations } from "../../src/store/sqlite/database/migrations.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { inDatabase, sha256 } from "../support/backups.ts";
import { expectFailure, printedJson, run } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { ownServer, testDirectory } from "../support/server.ts";

const directory = testDirectory();
const path = (...names: string[]) => join(directory, ...names);
const onair = (...args: string[]) => run(["migrate", ...args]);
const newest = migrations.at(-1)?.name ?? "";
/** The last migration of an older version, before the search index was rebuilt. */
const old = 4;

let data: string;
let made = 0;
beforeEach(() => {
  data = path(`data${made++}`);
});

/** A data directory of an older version. */
function oldData(): void {
  mkdirSync(data);
  const db = new Database(join(data, "onair.db"));
  db.run("PRAGMA journal_mode = WAL");
  applyMigrations(db, migrations.slice(0, old + 1));
  const insert = db.prepare(
    `INSERT INTO users (id, username, display_name, bio, followers_count, following_count, is_verified, created_at)
     VALUES (?, ?, ?, '', ?, 0, 0, '2020-01-01T00:00:00Z')`,
  );
  for (const { id, username, display_name, followers_count } of users)
    insert.run(id, username, display_name, followers_count);
  insert.finalize();
  db.close(true);
}

/** The files of the directory with everything that a change would alter. */
const traces = () =>
  readdirSync(data)
    .sort()
    .map((name) => [name, statSync(join(data, name)).mtimeMs, sha256(readFileSync(join(data, name)))]);

test("--dry-run lists the pending migrations and changes nothing", async () => {
  oldData();
  const before = traces();
  expect(await printedJson<object>(["migrate", "--data", data, "--dry-run"])).toEqual({
    data,
    version: expect.stringMatching(/^\d/),
    dry_run: true,
    from: "0004_oauth",
    to: newest,
    migrations: migrations.map(({ name }, i) => ({ name, state: i <= old ? "applied" : "pending" })),
    search_index: "pending",
    users: users.length,
    backup: null,
  });
  const told = await onair("--data", data, "--dry-run");
  expect(told.code).toBe(0);
  expect(told.stdout).toContain(`from 0004_oauth to ${newest}`);
  expect(told.stdout).toMatch(/applied +0004_oauth\npending +0005_search_trigrams\n/);
  expect(told.stdout).toContain(`--data ${data} --backup FILE`);
  expect(traces()).toEqual(before);
});

test("migrates like a server's start, lists the applied migrations, and does nothing the second time", async () => {
  oldData();
  const first = await onair("--data", data, "--json");
  expect(first.code).toBe(0);
  expect(first.stderr).toContain("--backup makes one first");
  for (const { name } of migrations.slice(old + 1)) expect(first.stderr).toContain(`Applying ${name}`);
  expect(JSON.parse(first.stdout)).toMatchObject({
    from: "0004_oauth",
    to: newest,
    search_index: "migrated",
  });
  expect(first.stdout).not.toContain("pending");
  const again = await onair("--data", data);
  expect([again.code, again.stderr]).toEqual([0, ""]);
  expect(again.stdout).toContain(`${data} has the schema of onair`);
  expect(again.stdout).not.toMatch(/migrated|pending/);
  const store = openStore(data);
  expect((await store.users.search("riot", 5)).users.length).toBeGreaterThan(1);
  await store.close();
  expect(statSync(join(data, "onair.db")).mode & 0o777).toBe(0o600);
});

test("--backup keeps a copy of the old database that only its owner can read", async () => {
  oldData();
  const file = path("before.db");
  const { code, stdout, stderr } = await onair("--data", data, "--backup", file);
  expect([code, stdout]).toEqual([0, expect.stringContaining(`The backup from before is in ${file}`)]);
  expect(stderr).not.toContain("only way back");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory).filter((name) => name.startsWith("before"))).toEqual(["before.db"]);
  const kept = inDatabase(file, schemaState);
  expect([kept.applied.at(-1), kept.users]).toEqual(["0004_oauth", users.length]);
  expect(look(data, schemaState)).toMatchObject({ pending: [], isSearchReady: true });
  expectFailure(await onair("--data", data, "--backup", file), 2, `${file} exists`);
});

test("--rebuild-search restores users that the index has lost", async () => {
  const store = openStore(data);
  const rows = users.map((user) => ({
    ...user,
    profile_picture: null,
    following_count: 0,
    created_at: null,
  }));
  await store.users.upsert(rows, "2020-01-01T00:00:00Z");
  await store.close();
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
  oldData();
  using reader = new Database(join(data, "onair.db"), { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM users").get();
  using writer = new Database(join(data, "onair.db"));
  writer.run("INSERT INTO settings (key, value) VALUES ('late', 'acknowledged')");
  const file = path("read.db");
  expectFailure(await onair("--data", data, "--backup", file), 1, "is being read by another program");
  expect([existsSync(file), look(data, schemaState).applied.at(-1)]).toEqual([false, "0004_oauth"]);
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

  test("of a file that is not a database", async () => {
    mkdirSync(data);
    writeFileSync(join(data, "onair.db"), "not a database at all ".repeat(100));
    await refused("is not a database of onair");
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
