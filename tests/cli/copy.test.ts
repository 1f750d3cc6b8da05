import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { getTableColumns, getTableName, is, type Table } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { SQLiteTable } from "drizzle-orm/sqlite-core";
import { ownColumns, postgresCopied, postgresNotCopied } from "../../src/postgres/copy.ts";
import * as postgresSchema from "../../src/postgres/schema.ts";
import { copyToDirectory, sqliteCopied, sqliteNotCopied } from "../../src/store/sqlite/copy.ts";
import * as sqliteSchema from "../../src/store/sqlite/schema.ts";
import { filledDirectory, rowsIn } from "../support/filled-directory.ts";
import { run } from "../support/process.ts";
import { ownDirectory } from "../support/server.ts";

/** All tables that a schema exports. */
function tablesOf(schema: Readonly<Record<string, unknown>>): string[] {
  const found = Object.values(schema);
  return found.flatMap((one) => (is(one, SQLiteTable) || is(one, PgTable) ? [getTableName(one)] : [])).sort();
}

describe("copied tables", () => {
  test.each([
    ["SQLite", sqliteSchema, sqliteCopied, sqliteNotCopied],
    ["PostgreSQL", postgresSchema, postgresCopied, postgresNotCopied],
  ] as const)(
    "every table of %s is copied, or listed with a reason why not",
    (_, schema, copied, notCopied) => {
      expect([...copied.keys(), ...Object.keys(notCopied)].sort()).toEqual(tablesOf(schema));
    },
  );

  test("both databases copy the same tables, with the same columns except those listed with a reason", () => {
    // Events and deliveries are in other tables of each database.
    const others = ["events", "deliveries"];
    const columnsIn = (copied: ReadonlyMap<string, Table>) => {
      const columns = [...copied].map(([name, table]) => [
        name,
        Object.keys(others.includes(name) ? {} : getTableColumns(table))
          .filter((column) => !(`${name}.${column}` in ownColumns))
          .sort(),
      ]);
      return Object.fromEntries(columns);
    };
    expect(columnsIn(postgresCopied)).toEqual(columnsIn(sqliteCopied));
    for (const own of Object.keys(ownColumns)) {
      const [table = "", column = ""] = own.split(".");
      expect([own, column in getTableColumns(sqliteCopied.get(table) as Table)]).toEqual([own, false]);
    }
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
