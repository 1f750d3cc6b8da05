import { Database } from "bun:sqlite";
import { beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { migrate } from "../../../src/store/sqlite/database/migrations.ts";
import { objects } from "../../../src/store/sqlite/database/objects.ts";
import { madeBackup } from "../../support/backups.ts";
import { client, run, serve, subscriber } from "../../support/process.ts";
import { adminKey, testDirectory } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const pageBytes = 4096;
const directory = testDirectory();
const sample = join(directory, "sample");
let application: Awaited<ReturnType<typeof subscriber>>;

/** A user in the middle of the table, and one far from it. */
const [damagedUser, wholeUser] = ["user_1500", "user_10"];

beforeAll(async () => {
  const server = await serve(["--data", sample], { env: { ONAIR_ALLOW_PRIVATE_WEBHOOKS: "true" } });
  const rows = Array.from({ length: 3_000 }, (_, i) => ({
    id: i + 1,
    username: `user_${i}`,
    bio: "b".repeat(200),
  }));
  const { admin } = client(server);
  await admin("POST", "/admin/v1/users/batch", rows.map((row) => JSON.stringify(row)).join("\n"));
  application = await subscriber(server, {
    webhook_url: "http://127.0.0.1:9/",
    event: "channel.followed",
    broadcasters: [1],
  });
  await server.end("SIGTERM");
});

let copies = 0;
/** A data directory of its own, which was closed, with something done to it. */
function damagedCopy(damage: (data: string) => void): string {
  const data = join(directory, `copy-${copies++}`);
  cpSync(sample, data, { recursive: true });
  damage(data);
  return data;
}

const fileIn = (data: string) => join(data, "onair.db");

function overwrite(data: string, at: number, bytes: Uint8Array): void {
  const database = readFileSync(fileIn(data));
  database.set(bytes, at);
  writeFileSync(fileIn(data), database);
}

const truncated = (toBytes: number) => (data: string) => truncateSync(fileIn(data), toBytes);

function change(data: string, ...statements: readonly string[]): void {
  const db = new Database(fileIn(data));
  for (const statement of statements) db.run(statement);
  db.close();
}

function replace(data: string, ...statements: readonly string[]): void {
  rmSync(fileIn(data));
  change(data, ...statements);
}

/** Where the first page of a table or index is. */
function rootOf(data: string, name: string): number {
  const db = new Database(fileIn(data), { readonly: true });
  const sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?";
  const root = db.query<{ rootpage: number }, [string]>(sql).get(name)?.rootpage ?? 0;
  db.close();
  if (root < 2) throw new Error(`there is no ${name}`);
  return (root - 1) * pageBytes;
}

const noise = (bytes: number) => Buffer.alloc(bytes, new Bun.CryptoHasher("sha512").update("noise").digest());
const noisyRoot = (name: string) => (data: string) => overwrite(data, rootOf(data, name), noise(pageBytes));

/** Damages each page that holds some text; the file has it more than once where it is in an index. */
function damagePagesWith(data: string, text: string): void {
  const database = readFileSync(fileIn(data));
  let damagedPages = 0;
  for (let at = 0; at < database.length; at += pageBytes) {
    const page = database.subarray(at, at + pageBytes);
    if (!page.includes(text)) continue;
    page.fill(0xff);
    damagedPages++;
  }
  if (damagedPages === 0) throw new Error(`${text} is nowhere`);
  writeFileSync(fileIn(data), database);
}

/** What is in the place of the database: neither content nor rights may change. */
function state(data: string) {
  const { mode } = statSync(fileIn(data), { throwIfNoEntry: false }) ?? { mode: 0 };
  const content = (mode & 0o170000) === 0o100000 ? Bun.hash(readFileSync(fileIn(data))) : null;
  return { mode, content };
}

const env = { ONAIR_ADMIN_KEY: adminKey, ONAIR_LOG_LEVEL: "error" };
const onair = (words: readonly string[], data: string) => run([...words, "--data", data], { env });
const ports = ["--port", "0", "--admin-port", "0"];
const readers = [["export", "users"], ["apps", "list"], ["backup"]] as const;
const commands = [["serve", ...ports], ...readers];

const toRestore = "then restore a backup: onair restore FILE --data ";
const isDamaged = (finding: string) => `onair.db is not a database of onair, or is damaged (${finding}). `;
const notOurs = "onair.db is a database of SQLite, but not one of onair. Name another directory with --data";

/** Makes a directory where a file may have been left. */
function inPlaceOf(file: string): void {
  rmSync(file, { force: true });
  mkdirSync(file);
}

describe("what cannot be the database is reported in one line and left alone", () => {
  test.each<[string, (data: string) => void, string]>([
    ["a header of noise", (data) => overwrite(data, 0, noise(100)), isDamaged("SQLITE_NOTADB")],
    [
      "a first page of noise",
      (data) => overwrite(data, 100, noise(pageBytes - 100)),
      isDamaged("SQLITE_CORRUPT"),
    ],
    ["nothing", truncated(0), isDamaged("it is empty")],
    ["its first 10 bytes", truncated(10), isDamaged("SQLITE_NOTADB")],
    ["its first 5,000 bytes", truncated(5_000), isDamaged("SQLITE_CORRUPT")],
    [
      "all but its last page",
      (data) => truncateSync(fileIn(data), statSync(fileIn(data)).size - pageBytes),
      isDamaged("SQLITE_CORRUPT"),
    ],
    [
      "its first page, and zeros",
      (data) => overwrite(data, pageBytes, Buffer.alloc(statSync(fileIn(data)).size - pageBytes)),
      isDamaged("SQLITE_CORRUPT"),
    ],
    [
      "its first page, and noise",
      (data) => overwrite(data, pageBytes, noise(statSync(fileIn(data)).size - pageBytes)),
      isDamaged("SQLITE_CORRUPT"),
    ],
    [
      "a text",
      (data) => writeFileSync(fileIn(data), "dear diary\n".repeat(1_000)),
      isDamaged("SQLITE_NOTADB"),
    ],
    ["a short text", (data) => writeFileSync(fileIn(data), "hi\n"), isDamaged("SQLITE_NOTADB")],
    ["no table of its migrations", (data) => change(data, "DROP TABLE migrations"), notOurs],
    ["its migrations in noise", noisyRoot("migrations"), isDamaged("SQLITE_CORRUPT")],
    ["a table less", (data) => change(data, "DROP TABLE replays"), isDamaged("the table replays is missing")],
    [
      "an index less",
      (data) => change(data, "DROP INDEX deliveries_due"),
      isDamaged("the index deliveries_due is missing"),
    ],
    [
      "a trigger less",
      (data) => change(data, "DROP TRIGGER subscription_made"),
      isDamaged("the trigger subscription_made is missing"),
    ],
    [
      "no search",
      (data) => change(data, "DROP TABLE user_search"),
      isDamaged("the table user_search is missing"),
    ],
    [
      "no settings",
      (data) => change(data, "DROP TABLE settings"),
      isDamaged("the table settings is missing"),
    ],
    [
      "the form of a newer version",
      (data) => change(data, "INSERT INTO migrations (number, name, hash) VALUES (999, '0999_future', 'x')"),
      "The data was written by a newer version of onair (its migration 0999_future is unknown here). Use that version",
    ],
    [
      "the form of another build",
      (data) => change(data, "UPDATE migrations SET hash = 'x' WHERE number = 3"),
      "The data was written by another build of onair: its migration 0003_admin is not the one known here",
    ],
    ["no table at all", (data) => replace(data, "PRAGMA user_version = 3"), notOurs],
    ["another program's tables", (data) => replace(data, "CREATE TABLE notes (id, text)"), notOurs],
    [
      "another program's tables of the same names",
      (data) =>
        replace(data, "CREATE TABLE users (id, name)", "CREATE TABLE migrations (number, name, hash)"),
      notOurs,
    ],
    [
      "a directory",
      (data) => {
        rmSync(fileIn(data));
        mkdirSync(fileIn(data));
      },
      "onair.db is not a file. Move it away",
    ],
    [
      "a link that leads nowhere",
      (data) => {
        rmSync(fileIn(data));
        symlinkSync("/nowhere/onair.db", fileIn(data));
      },
      "onair.db is not a file. Move it away",
    ],
    [
      "a log that is a directory",
      (data) => inPlaceOf(`${fileIn(data)}-wal`),
      "onair.db-wal is not a file. Move it away",
    ],
    [
      "a log's index that is a directory",
      (data) => inPlaceOf(`${fileIn(data)}-shm`),
      "onair.db-shm is not a file",
    ],
    [
      "a lock of noise",
      (data) => writeFileSync(join(data, "onair.lock"), noise(9_000)),
      "onair.lock is damaged",
    ],
    [
      "a lock that is a directory",
      (data) => {
        rmSync(join(data, "onair.lock"));
        mkdirSync(join(data, "onair.lock"));
      },
      "onair.lock is not a file. Move it away",
    ],
  ])("%s", async (_, damage, message) => {
    for (const command of commands) {
      const data = damagedCopy(damage);
      const before = state(data);
      const { code, stdout, stderr } = await onair(command, data);
      expect([command, code, stdout, stderr]).toEqual([command, 1, "", expect.stringContaining(message)]);
      expect(stderr).toMatch(/^onair: [^\n]+\n$/);
      if (message.includes("or is damaged")) expect(stderr).toContain(toRestore + data);
      expect([command, state(data)]).toEqual([command, before]);
    }
  });

  test.skipIf(process.getuid?.() === 0)("a file that may not be read (not for root, who may)", async () => {
    for (const command of commands) {
      const data = damagedCopy((of) => chmodSync(fileIn(of), 0));
      const { code, stdout, stderr } = await onair(command, data);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(
        /^onair: [^\n]+onair\.db may not be read and written\. Give this user the right[^\n]+\n$/,
      );
    }
  });
});

describe("what SQLite ignores is no damage", () => {
  test.each<[string, string]>([
    ["a log of noise", "-wal"],
    ["a log's index of noise", "-shm"],
    ["a journal of noise", "-journal"],
  ])("%s", async (_, suffix) => {
    const data = damagedCopy((of) => writeFileSync(fileIn(of) + suffix, noise(40_000)));
    const { code, stdout, stderr } = await onair(["export", "users"], data);
    expect([code, stderr, stdout.trim().split("\n").length]).toEqual([0, "", 3_000]);
  });
});

test("a first start that was killed leaves nothing in the way of the next", async () => {
  const data = join(directory, "begun");
  mkdirSync(data);
  for (const suffix of ["", "-journal", "-wal"])
    writeFileSync(join(data, `onair.making${suffix}`), noise(5_000));
  const server = await serve(["--data", data]);
  expect(await server.end("SIGTERM")).toBe(0);
  expect(statSync(fileIn(data)).mode & 0o777).toBe(0o600);
});

test("what a database has to have is what the migrations make", () => {
  const db = new Database(":memory:");
  migrate(db);
  const sql = "SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite_%' ORDER BY name";
  for (const [type, names] of Object.entries(objects)) {
    const made = db.query<{ name: string }, [string]>(sql).all(type);
    expect([type, made.map(({ name }) => name)]).toEqual([type, [...names]]);
  }
});

describe("damage that only a read finds", () => {
  test.each<[string, (data: string) => void, readonly string[]]>([
    ["of users", (data) => damagePagesWith(data, damagedUser), ["export", "users"]],
    ["of applications", noisyRoot("applications"), ["apps", "list"]],
    ["of categories", noisyRoot("categories"), ["serve", ...ports]],
    ["of the settings", noisyRoot("settings"), ["serve", ...ports]],
  ])("%s ends the command that needs it with one line", async (_, damage, command) => {
    const data = damagedCopy(damage);
    const { code, stderr } = await onair(command, data);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^onair: [^\n]+\n$/);
    expect(stderr).toContain(isDamaged("SQLITE_CORRUPT"));
    expect(stderr).toContain(toRestore + data);
  });

  test("by a backup is reported with what may help", async () => {
    const data = damagedCopy((of) => damagePagesWith(of, damagedUser));
    const { code, stdout, stderr } = await onair(["backup"], data);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^onair: The backup failed\. The database is damaged[^\n]+onair restore FILE --data DIR\n$/,
    );
  });

  test("fails the requests that need it, is logged without secrets, and all else goes on", async () => {
    const data = damagedCopy((of) => damagePagesWith(of, damagedUser));
    const log = join(directory, "log");
    const server = await serve(["--data", data], { log });
    const { admin, api } = client(server);
    const user = (name: string) => api("GET", `/public/v1/users/${name}`, application.token);
    for (let n = 0; n < 3; n++) {
      for (const failed of [
        await user(damagedUser),
        await admin("PUT", "/admin/v1/users/1501", { username: damagedUser }),
      ]) {
        const body = await failed.text();
        expect([failed.status, JSON.parse(body)]).toMatchObject([
          500,
          { code: "internal_error", errors: [] },
        ]);
        expect(body).not.toMatch(/damaged|onair\.db|SQLITE|malformed/);
      }
      expect((await user(wholeUser)).status).toBe(200);
      expect((await admin("PUT", "/admin/v1/users/11", { username: wholeUser })).status).toBeLessThan(300);
      expect((await fetch(`${server.adminUrl}/healthz`)).status).toBe(200);
      // It has begun with an answer, which it can only break off.
      await expect(admin("GET", "/admin/v1/users/batch").then((answer) => answer.text())).rejects.toThrow();
    }
    await expect(madeBackup((method, path) => admin(method, path))).rejects.toThrow(
      "The database is damaged",
    );
    await until(() => readFileSync(log, "utf8").includes("backup.failed"));
    expect(await server.end("SIGTERM")).toBe(0);
    const lines = readFileSync(log, "utf8").trim().split("\n");
    const told = lines.map((line) => JSON.parse(line) as { event: string; error: string });
    const failures = told.filter(({ event }) => event === "internal_error");
    expect(failures.length).toBeGreaterThanOrEqual(6);
    for (const { error } of failures) expect(error).toContain(isDamaged("SQLITE_CORRUPT"));
    for (const secret of await secretsIn(sample)) expect(lines.join("\n")).not.toContain(secret);
  });

  test("in what the engine works on is logged, and all else goes on", async () => {
    const data = damagedCopy(noisyRoot("deliveries"));
    const log = join(directory, "engine.log");
    const server = await serve(["--data", data], { log });
    const { admin, api } = client(server);
    await until(() => readFileSync(log, "utf8").includes("service_failed"));
    expect((await api("GET", `/public/v1/users/${damagedUser}`, application.token)).status).toBe(200);
    expect((await admin("PUT", "/admin/v1/users/11", { username: wholeUser })).status).toBeLessThan(300);
    expect((await admin("GET", "/admin/v1/deliveries")).status).toBe(500);
    expect(await server.end("SIGTERM")).toBe(0);
    expect(readFileSync(log, "utf8")).toContain(isDamaged("SQLITE_CORRUPT"));
    for (const secret of await secretsIn(sample)) expect(readFileSync(log, "utf8")).not.toContain(secret);
  });
});

/** Everything that a log must never hold. */
async function secretsIn(data: string): Promise<string[]> {
  const db = new Database(fileIn(data), { readonly: true });
  const kept = [
    ...db
      .query<{ value: string }, []>("SELECT value FROM settings WHERE key IN ('signing_key', 'cursor_key')")
      .all(),
    ...db.query<{ value: string }, []>("SELECT webhook_secret AS value FROM applications").all(),
  ];
  db.close();
  expect(kept.length).toBe(3);
  // A key in PEM would be quoted.
  return [adminKey, application.token, ...kept.map(({ value }) => value.split("\n")[1] ?? value)];
}
