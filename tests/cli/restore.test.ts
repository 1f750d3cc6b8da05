import { Database } from "bun:sqlite";
import { beforeEach, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { sessionFamily } from "../../src/domain/tokens.ts";
import { addBallast, backupFiles, breakIndex, inDatabase, madeBackup } from "../support/backups.ts";
import { expectFailure, printedJson, program, run } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { adminKey, ownServer, startServer, testDirectory, testServer } from "../support/server.ts";

const directory = testDirectory();
const path = (...names: string[]) => join(directory, ...names);
const served = path("served");
const args = ["--public-url", "https://api.example.com"];
const onair = (...words: string[]) => run(["restore", ...words], { cwd: directory });
let name: string;

const server = await testServer({ data: served, args, users });
const { id: applicationId, token } = await server.application();
const session = { hash: new Uint8Array(32), key_id: "", expires_at: Number.MAX_SAFE_INTEGER };
await server.app.store.operatorKeys.beginSession(session, 0);
const expiresAt = session.expires_at;
const ofPortal = { applicationId, userId: null, scopes: [], createdAt: 0, expiresAt };
await server.app.store.tokens.create(session.hash, ofPortal, sessionFamily(applicationId));
const backup = await madeBackup(server);
name = backupFiles(served)[0] ?? "";
copyFileSync(path("served", "backups", name), path("backup.db"));

// A second attempt of a test finds nothing of the first.
const kept = readdirSync(directory);
beforeEach(() => {
  for (const one of readdirSync(directory))
    if (!kept.includes(one)) rmSync(path(one), { recursive: true, force: true });
});

test("restores a backup into a new directory, from which a server answers as before", async () => {
  const restored = ["restore", "backup.db", "--data", "restored"];
  expect(await printedJson<object>(restored, { cwd: directory })).toEqual({
    data: "restored",
    size_bytes: backup.size_bytes,
    sha256: backup.sha256,
    users: users.length,
    applications: 1,
    subscriptions: 0,
    events: 0,
  });
  const rows = (file: string) =>
    inDatabase(file, (db) => db.query("SELECT * FROM settings WHERE key <> 'deliveries_held'").all());
  expect(rows(path("restored", "onair.db"))).toEqual(rows(path("backup.db")));
  expect(statSync(path("restored")).mode & 0o777).toBe(0o700);
  expect(statSync(path("restored", "onair.db")).mode & 0o777).toBe(0o600);
  expect(readdirSync(path("restored")).sort()).toEqual(["onair.db", "onair.lock", "onair.pid"]);
  const second = await ownServer({ data: path("restored"), args });
  for (const at of [
    "/public/v1/users/xqcow",
    "/public/v1/users/search?query=riot",
    "/public/v1/events/subscriptions",
  ]) {
    const [before, after] = await Promise.all([server.get(at, token), second.get(at, token)]);
    expect([at, after.status, await after.text()]).toEqual([at, 200, await before.text()]);
  }
});

test("ends all sessions, because one that was ended since the backup would be valid again", async () => {
  expect((await onair("backup.db", "--data", "signed-out")).code).toBe(0);
  const counted = (...file: string[]) =>
    inDatabase(path(...file), (db) =>
      ["operator_sessions", "tokens WHERE family_id IS NOT NULL", "tokens"].map(
        (rows) => db.query(`SELECT * FROM ${rows}`).all().length,
      ),
    );
  expect([counted("backup.db"), counted("signed-out", "onair.db")]).toEqual([
    [1, 1, 2],
    [0, 0, 1],
  ]);
});

test("restores a closed database, and leaves no file open and no data only in the WAL", async () => {
  const closed = altered("closed.db", "PRAGMA journal_mode = WAL");
  expect((await onair(closed, "--data", "of-closed")).code).toBe(0);
  const restored = path("of-closed", "onair.db");
  const open = readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(join("/proc/self/fd", fd)).startsWith(path("of-closed"));
    } catch {
      return false; // closed since
    }
  });
  expect(open).toEqual([]);
  const held = "SELECT value FROM settings WHERE key = 'deliveries_held'";
  expect(inDatabase(restored, (db) => db.query(held).all())).toHaveLength(1);
});

test("a compressed backup is named, and nothing is restored", async () => {
  writeFileSync(path("backup.db.gz"), Bun.gzipSync(readFileSync(path("backup.db"))));
  expectFailure(await onair("backup.db.gz", "--data", "from-gz"), 1, "is compressed: unpack it with gunzip");
  expect(existsSync(path("from-gz", "onair.db"))).toBe(false);
});

test("ignores the files of an interrupted restore", async () => {
  const other = altered("other.db", "PRAGMA journal_mode = WAL");
  mkdirSync(path("cut-off"));
  const partial = path("cut-off", "onair.restoring");
  // The files that SQLite leaves beside a copy when its process is killed.
  const killed = new Database(path(other));
  killed.run("UPDATE settings SET value = 'of the other one'");
  copyFileSync(path(`${other}-wal`), `${partial}-wal`);
  killed.close(true);
  const closed = altered("closed-too.db", "PRAGMA journal_mode = WAL");
  expect(await onair(closed, "--data", "cut-off")).toMatchObject({ code: 0, stderr: "" });
  const found = "SELECT * FROM settings WHERE value = 'of the other one'";
  expect(inDatabase(path("cut-off", "onair.db"), (db) => db.query(found).all())).toEqual([]);
});

test("prints what was restored and the next steps", async () => {
  const { code, stdout, stderr } = await onair("backup.db", "--data", "told");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("onair serve --data told");
});

test("reads the directory and the backup destination from the configuration file, and names that file in its advice", async () => {
  const settings = written("onair.toml", 'data = "configured"\nbackup-to = "served/backups"\n');
  const { code, stdout } = await onair("--config", settings);
  expect([code, stdout]).toEqual([0, expect.stringContaining("configured has the database of ")]);
  expect(stdout).toContain(`onair serve --config ${settings}\n`);
  expect(stdout).not.toContain("set data = ");
  const elsewhere = await onair("backup.db", "--config", settings, "--data", "elsewhere");
  expect(elsewhere.stdout).toContain(
    `onair serve --config ${settings} --data elsewhere\nIf ${settings} names another directory or a database, set data = "${path("elsewhere")}" in it instead: `,
  );
  expectFailure(await onair("--config", settings), 1, "configured");
});

test.each([
  ["names no place", "", 2, "Name the file of a backup, or the location of backups with --from"],
  ["has a mistake", 'dta = "x"\n', 2, "dta is not a setting. Did you mean data?"],
  ["has the data in PostgreSQL", 'database = "postgres://x@127.0.0.1:1/x"\n', 2, "needs a data directory"],
])("a file of settings that %s", async (name, content, code, message) => {
  const file = written(`${name.replaceAll(" ", "-")}.toml`, content);
  const refused = await onair("--config", file);
  expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test("restores into a directory that has everything but the database", async () => {
  mkdirSync(path("emptied", "backups"), { recursive: true });
  writeFileSync(path("emptied", "backups", "mine"), "");
  expect((await onair("backup.db", "--data", "emptied")).code).toBe(0);
  expect(backupFiles(path("emptied"))).toEqual(["mine"]);
});

/** Creates a file with this content. Returns its name. */
function written(file: string, content: string | Uint8Array): string {
  writeFileSync(path(file), content);
  return file;
}
/** Creates a file from the backup. Returns its name. */
function altered(file: string, sql: string): string {
  copyFileSync(path("backup.db"), path(file));
  using db = new Database(path(file));
  db.run(sql);
  return file;
}
const files: Readonly<Record<string, () => string>> = {
  "no file": () => "missing.db",
  "a directory": () => "served",
  text: () => written("text.db", "not a database at all ".repeat(1_000)),
  nothing: () => written("empty.db", ""),
  "another program's database"() {
    using db = new Database(path("foreign.db"));
    db.run("CREATE TABLE migrations (id, name, hash)");
    return "foreign.db";
  },
  "one of a newer version": () =>
    altered("newer.db", "INSERT INTO migrations (number, name, hash) VALUES (999, '0999_future', 'x')"),
  "one of another build": () => altered("other.db", "UPDATE migrations SET hash = 'x'"),
  "one whose index does not fit its table"() {
    copyFileSync(path("backup.db"), path("index.db"));
    breakIndex(path("index.db"));
    return "index.db";
  },
  "half of one"() {
    const whole = readFileSync(path("backup.db"));
    return written("half.db", whole.subarray(0, whole.length / 2));
  },
  "one whose name has another hash"() {
    const other = `01KEYN5Z9V5Z8N1F4T7Y0XW3CD.${"0".repeat(64)}.db`;
    copyFileSync(path("backup.db"), path(other));
    return other;
  },
  "the database of a running server": () => join("served", "onair.db"),
};

test.each<[string, 1 | 2, string]>([
  ["no file", 2, "There is no file missing.db"],
  ["a directory", 2, "served is a directory"],
  ["text", 1, "text.db: The database is damaged, or is not one of SQLite"],
  ["nothing", 1, "empty.db: It is a database of SQLite, but not one of onair"],
  ["another program's database", 1, "not one of onair"],
  ["one of a newer version", 1, "written by a newer version of onair (its migration 0999_future"],
  ["one of another build", 1, "written by a build of onair with another schema"],
  [
    "one whose index does not fit its table",
    1,
    "index.db: The database is damaged, or is not one of SQLite (row ",
  ],
  ["half of one", 1, "damaged"],
  ["one whose name has another hash", 1, "is damaged or was changed: its SHA-256 is not that of its name"],
  ["the database of a running server", 1, "is a database that was not closed, not a backup"],
])("refuses %s, and leaves no files", async (what, code, message) => {
  expectFailure(await onair(files[what]?.() ?? "", "--data", "never"), code, message);
  expect(existsSync(path("never"))).toBe(false);
});

test.each<[string, string]>([
  [
    "the trigger escalate",
    "CREATE TRIGGER escalate AFTER INSERT ON users BEGIN UPDATE operator_keys SET role = 'admin'; END",
  ],
  ["the view seen", "CREATE VIEW seen AS SELECT * FROM users"],
  ["the table extra", "CREATE TABLE extra (id INTEGER PRIMARY KEY)"],
  ["the index by_bio", "CREATE INDEX by_bio ON users (bio)"],
  ["the table users", "ALTER TABLE users ADD COLUMN note TEXT DEFAULT ''"],
])("refuses a backup with %s of another program, and leaves no files", async (object, statement) => {
  copyFileSync(path("backup.db"), path("foreign.db"));
  changed(path("foreign.db"), statement);
  expectFailure(
    await onair("foreign.db", "--data", "foreign"),
    1,
    `foreign.db: Its schema has ${object}, which is not as onair makes it`,
  );
  expect(existsSync(path("foreign"))).toBe(false);
});

function changed(file: string, statement: string): void {
  const db = new Database(file);
  db.run(statement);
  db.close();
}

test("accepts a backup with the statistics of PRAGMA optimize", async () => {
  copyFileSync(path("backup.db"), path("analyzed.db"));
  changed(path("analyzed.db"), "ANALYZE");
  expect((await onair("analyzed.db", "--data", "analyzed")).code).toBe(0);
});

test("accepts a backup under its original file name", async () => {
  expect((await onair(join("served", "backups", name), "--data", "named")).code).toBe(0);
});

test.each([["onair.db"], ["onair.db-wal"]])("refuses a directory that holds %s", async (file) => {
  const data = `holds-${file}`;
  mkdirSync(path(data));
  writeFileSync(path(data, file), "mine");
  expectFailure(await onair("backup.db", "--data", data), 1, `${data} holds a database already (${file})`);
  expect(readFileSync(path(data, file), "utf8")).toBe("mine");
  expect(readdirSync(path(data))).toEqual([file]);
});

test("refuses a directory that a server uses", async () => {
  const used = await onair("backup.db", "--data", "served");
  expectFailure(used, 1, `in use by process ${process.pid}. Stop it, or name another directory.\n`);
  expect((await server.get("/public/v1/users/xqcow", token)).status).toBe(200);
});

test.each<[string[], string]>([
  [[], "Name the file of a backup"],
  [["--from", "backup.db"], "backup.db is a file: leave out --from"],
  [["a", "b"], '"b" is not expected here'],
  [["backup.db", "--url", "http://x"], "--url"],
])("%j is wrong usage", async (words, message) => {
  expectFailure(await onair(...words), 2, message);
});

test("a properly closed database is restored like a backup", async () => {
  const data = path("closed");
  await (await startServer({ data })).stop();
  addBallast(data, 1);
  const before = readdirSync(data).sort();
  // In its own process, so that nothing has the database open any more.
  const words = ["restore", join("closed", "onair.db"), "--data", "from-closed"];
  expect((await run(words, { command: program, cwd: directory })).code).toBe(0);
  expect(readdirSync(data).sort()).toEqual(before);
  await ownServer({ data: path("from-closed"), env: { ONAIR_ADMIN_KEY: adminKey } });
});
