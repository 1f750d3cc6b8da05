import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { getTableColumns, getTableName, is, type Table } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { SQLiteTable } from "drizzle-orm/sqlite-core";
import * as postgresSchema from "../../src/postgres/schema.ts";
import { copiedTables, copyToDirectory, notCopied } from "../../src/store/sqlite/copy.ts";
import * as sqliteSchema from "../../src/store/sqlite/schema.ts";
import { filledDirectory, rowsIn } from "../support/filled-directory.ts";
import { run } from "../support/process.ts";
import { ownDirectory } from "../support/server.ts";

/** The tables of PostgreSQL that are not copied, with the reason. */
const ownTables: Readonly<Record<string, string>> = {
  event_ids: "are a part of the events",
  delivery_times: "are made of the deliveries",
  delivery_parts: "is made for the numbers of what is copied",
  user_search: "is made of the users",
  category_orders: "are kept for minutes, for walks that can begin again",
  endpoint_shards: "says which process sends now",
  replicas: "says which processes run now",
  operator_sessions: "begin again by signing in",
};

/** Columns that only PostgreSQL has, with their origin. */
const ownColumns: Readonly<Record<string, string>> = {
  "users.folded": "is made of the names",
  "tokens.made": "counts the rows, which are copied in their order",
  "subscriptions.published_by": "says which process has published last",
};

/** All tables that a schema exports, by their names. */
function tablesOf(schema: Readonly<Record<string, unknown>>): Map<string, Table> {
  const found = Object.values(schema).filter((one) => is(one, SQLiteTable) || is(one, PgTable));
  return new Map(found.map((table) => [getTableName(table), table]));
}

describe("copied tables", () => {
  test.each([
    ["SQLite", sqliteSchema, notCopied],
    ["PostgreSQL", postgresSchema, ownTables],
  ] as const)("every table of %s is copied, or listed with a reason why not", (_, schema, others) => {
    const listed = [...copiedTables.keys(), ...Object.keys(others)];
    expect(listed.sort()).toEqual([...tablesOf(schema).keys()].sort());
  });

  test("the copied tables have the same columns in both databases, except those listed with a reason", () => {
    const inPostgres = tablesOf(postgresSchema);
    const own: string[] = [];
    for (const [name, table] of copiedTables) {
      // Events and deliveries are in other tables of each database.
      if (name === "events" || name === "deliveries") continue;
      const there = Object.keys(getTableColumns(inPostgres.get(name) as Table));
      const here = Object.keys(getTableColumns(table));
      expect([name, here.filter((column) => !there.includes(column))]).toEqual([name, []]);
      for (const column of there) if (!here.includes(column)) own.push(`${name}.${column}`);
    }
    expect(own.sort()).toEqual(Object.keys(ownColumns).sort());
  });
});

test("an event with a damaged body is named and copied without its body", async () => {
  const [from, to] = [filledDirectory(), join(ownDirectory(), "copy")];
  const before = rowsIn(from);
  const db = new Database(join(from, "onair.db"));
  const [one] = db.query<{ id: string }, []>("SELECT id FROM events WHERE body IS NOT NULL").all();
  expect(db.run("UPDATE events SET body = x'0102030405' WHERE id = ?", [one?.id ?? ""]).changes).toBe(1);
  db.close(true);
  const { code, stderr } = await run(["copy", "--from", from, "--to", to]);
  expect([code, stderr]).toEqual([0, expect.stringContaining(`is damaged in ${from}: ${one?.id}.`)]);
  const after = rowsIn(to);
  expect(after["deliveries"]).toEqual(before["deliveries"]);
  const events = (before["events"] ?? []) as Readonly<Record<string, unknown>>[];
  expect(after["events"]).toEqual(
    events.map((row) => (row["id"] === one?.id ? { ...row, body: null } : row)),
  );
});

describe("wrong usage changes nothing", () => {
  test.each([
    [["--to", "x"], "--from is missing"],
    [["--from", "/nowhere/at-all", "--to", "x"], "There is no data in /nowhere/at-all"],
    [["--from", "mysql://db/onair", "--to", "x"], "must be a URL like postgres://"],
    [
      ["--from", "postgres://a:hunter2@db/onair", "--to", "x"],
      "--from must be without a password, because other users of the machine can see it: remove it here, and set ONAIR_DATABASE to the whole URL",
    ],
    [["--from", "postgres://a@db/onair", "--to", "x", "--reopen"], "--reopen excludes --to"],
  ])("%p", async (args, message) => {
    const { code, stdout, stderr } = await run(["copy", ...args]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("hunter2");
  });
});

test("a finished copy that cannot become the database says what to do", async () => {
  const to = ownDirectory();
  const copied = copyToDirectory(to, async () => void mkdirSync(join(to, "onair.db")));
  const database = join(to, "onair.db");
  await expect(copied).rejects.toThrow(`${database} is not a file. Move it away, or name another directory`);
});
