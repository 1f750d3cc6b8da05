import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { migrate, objects } from "../../../src/store/sqlite/migrations.ts";
import {
  fileIn,
  freePorts,
  isDamaged,
  noise,
  noisyRoot,
  onair,
  overwrite,
  pageBytes,
  testSample,
  toRestore,
  userCount,
} from "../../support/damaged-data.ts";
import { serve } from "../../support/process.ts";
import { ownDirectory } from "../../support/server.ts";

const sample = testSample();

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

/** The file at the path of the database: neither content nor mode may change. */
function state(data: string) {
  const { mode } = statSync(fileIn(data), { throwIfNoEntry: false }) ?? { mode: 0 };
  const content = (mode & 0o170000) === 0o100000 ? Bun.hash(readFileSync(fileIn(data))) : null;
  return { mode, content };
}

const readers = [["export", "users"], ["apps", "list"], ["backup"]] as const;
const commands = [["serve", ...freePorts], ...readers];

const notOurs = "onair.db is a database of SQLite, but not one of onair. Name another directory with --data";

/** Makes a directory where a file may have been left. */
function inPlaceOf(file: string): void {
  rmSync(file, { force: true });
  mkdirSync(file);
}

describe("a file that cannot be the database is reported in one line and not changed", () => {
  const damages: readonly [string, (data: string) => void, string][] = [
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
      (data) => change(data, "UPDATE migrations SET hash = 'x'"),
      'The data was written by a build of onair with another schema (its migration 0000_start is not the one known here): write it out with "onair export" of that build',
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
  ];
  // Each is met by one of the commands, in turn: all of them open the database by the same function. The server, which makes
  // a new database where there is none, meets each that looks like none.
  const likeNone = ["nothing", "no table at all", "a short text"];
  const met = damages.map(
    (one, i) =>
      [...one, commands[likeNone.includes(one[0]) ? 0 : i % commands.length] ?? readers[0]] as const,
  );
  test.each(met)("%s", async (_, damage, message, command) => {
    const data = sample.copy(damage);
    const before = state(data);
    const { code, stdout, stderr } = await onair(command, data);
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(message)]);
    expect(stderr).toMatch(/^onair: [^\n]+\n$/);
    if (message.includes("or is damaged")) expect(stderr).toContain(toRestore + data);
    expect(state(data)).toEqual(before);
  });

  test.skipIf(process.getuid?.() === 0)("a file that may not be read (not for root, who may)", async () => {
    for (const command of commands) {
      const data = sample.copy((of) => chmodSync(fileIn(of), 0));
      const { code, stdout, stderr } = await onair(command, data);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(
        /^onair: [^\n]+onair\.db may not be read and written\. Give this user the right[^\n]+\n$/,
      );
    }
  });
});

describe("bytes that SQLite ignores are no damage", () => {
  test.each<[string, string]>([
    ["a log of noise", "-wal"],
    ["a log's index of noise", "-shm"],
    ["a journal of noise", "-journal"],
  ])("%s", async (_, suffix) => {
    const data = sample.copy((of) => writeFileSync(fileIn(of) + suffix, noise(40_000)));
    const { code, stdout, stderr } = await onair(["export", "users"], data);
    expect([code, stderr, stdout.trim().split("\n").length]).toEqual([0, "", userCount]);
  });
});

test("a first start that was killed leaves nothing in the way of the next", async () => {
  const data = join(ownDirectory(), "begun");
  mkdirSync(data);
  for (const suffix of ["", "-journal", "-wal"])
    writeFileSync(join(data, `onair.making${suffix}`), noise(5_000));
  const server = await serve(["--data", data]);
  expect(await server.end("SIGTERM")).toBe(0);
  expect(statSync(fileIn(data)).mode & 0o777).toBe(0o600);
});

test("the expected tables are the ones that the migrations create", () => {
  const db = new Database(":memory:");
  migrate(db);
  const sql = "SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite_%' ORDER BY name";
  for (const [type, names] of Object.entries(objects)) {
    const made = db.query<{ name: string }, [string]>(sql).all(type);
    expect([type, made.map(({ name }) => name)]).toEqual([type, [...names]]);
  }
});
