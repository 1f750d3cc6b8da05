import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { getTableColumns, getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { SQLiteTable } from "drizzle-orm/sqlite-core";
import { copiedNouns } from "../../src/store/operations/copy.ts";
import {
  copiedColumns,
  ownColumns,
  postgresNotCopied,
  postgresTables,
} from "../../src/store/postgres/copy/tables.ts";
import { sqliteNotCopied, sqliteTables } from "../../src/store/sqlite/copy/tables.ts";
import { run } from "../support/process.ts";

/** All tables of a schema, by what its files export. */
async function tablesOf(side: "sqlite" | "postgres"): Promise<string[]> {
  const folder = join(import.meta.dir, `../../src/store/${side}/schema`);
  const files = readdirSync(folder).filter((file) => file !== "columns.ts");
  const modules = await Promise.all(files.map((file) => import(join(folder, file))));
  const found = modules.flatMap((one) => Object.values<unknown>(one));
  return found.flatMap((one) => (is(one, SQLiteTable) || is(one, PgTable) ? [getTableName(one)] : [])).sort();
}

describe("what is copied", () => {
  test.each([
    ["sqlite", sqliteTables, sqliteNotCopied],
    ["postgres", postgresTables, postgresNotCopied],
  ] as const)("every table of %s is, or has a reason", async (side, copied, notCopied) => {
    const known = [
      ...Object.values<SQLiteTable | PgTable>(copied).map(getTableName),
      ...Object.keys(notCopied),
    ];
    expect(known.sort()).toEqual(await tablesOf(side));
  });

  const plain = copiedNouns.filter((noun) => noun !== "events" && noun !== "deliveries");
  test.each(plain)("%s have the same columns on both sides, but for those that have a reason", (noun) => {
    const here = Object.keys(getTableColumns(sqliteTables[noun])).sort();
    expect(
      copiedColumns(noun)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(here);
    for (const name of Object.keys(ownColumns)) expect(here).not.toContain(name.replace(`${noun}.`, ""));
  });
});

describe("wrong usage changes nothing", () => {
  test.each([
    [["--to", "x"], "--from is missing"],
    [["--from", "/nowhere/at-all", "--to", "x"], "There is no data in /nowhere/at-all"],
    [["--from", "mysql://db/onair", "--to", "x"], "must be a URL like postgres://"],
    [["--from", "postgres://a:hunter2@db/onair", "--to", "x"], "--from must be without a password"],
    [["--from", "postgres://a@db/onair", "--to", "x", "--reopen"], "--reopen goes without --to"],
  ])("%p", async (args, message) => {
    const { code, stdout, stderr } = await run(["copy", ...args]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("hunter2");
  });
});
