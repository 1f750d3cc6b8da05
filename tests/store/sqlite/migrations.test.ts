import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { migrate, migrations } from "../../../src/store/sqlite/database/migrations.ts";

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: string | null;
}

/** Everything that a database is made of, but for what SQLite and FTS5 keep for themselves. */
function schemaOf(db: Database): Map<string, string> {
  const rows = db
    .query<{ type: string; name: string; sql: string }, []>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL",
    )
    .all();
  return new Map(rows.map(({ type, name, sql }) => [`${type} ${name}`, sql.replaceAll(/\s+/g, " ")]));
}

const tablesOf = (db: Database) =>
  db
    .query<{ name: string }, []>(
      "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite%'",
    )
    .all()
    .map(({ name }) => name)
    .filter((name) => name !== "migrations")
    .sort();

type Row = Readonly<Record<string, unknown>>;

const rowsOf = (db: Database, table: string) => db.query<Row, []>(`SELECT * FROM "${table}"`).all();

/** What is made anew from the users. */
const isDerived = (table: string) => /search/.test(table);

/** Rows of before that no row of now agrees with, by the columns that there are still. */
function lostRows(before: ReadonlyMap<string, readonly Row[]>, db: Database): Row[] {
  return [...before].flatMap(([table, rows]) => {
    if (isDerived(table) || !tablesOf(db).includes(table)) return [];
    const now = rowsOf(db, table);
    const isKept = (row: Row) =>
      now.some((other) =>
        Object.entries(row).every(([name, value]) => !(name in other) || Bun.deepEquals(other[name], value)),
      );
    return rows.filter((row) => !isKept(row)).map((row) => ({ table, ...row }));
  });
}

/** Puts rows into each table that has none, with whatever its columns take. Rows refer to each other by equal values. */
function fill(db: Database): void {
  db.run("PRAGMA foreign_keys = OFF");
  for (const table of tablesOf(db)) {
    if (rowsOf(db, table).length > 0) continue;
    const columns = db.query<Column, [string]>("SELECT * FROM pragma_table_info(?)").all(table);
    const required = columns.filter(({ notnull, dflt_value }) => notnull && dflt_value === null);
    const names = (required.length > 0 ? required : columns).map(({ name }) => name);
    const values = columns.filter(({ name }) => names.includes(name)).map(sampleOf);
    const sql = `INSERT INTO "${table}" (${names.map((name) => `"${name}"`).join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
    db.run(sql, values);
  }
  expect(db.query("PRAGMA foreign_key_check").all()).toEqual([]);
}

function sampleOf({ name, type }: Column): string | number | Uint8Array {
  if (/INT|REAL/i.test(type)) return 1;
  if (/BLOB/i.test(type)) return new Uint8Array([1]);
  return /data|schema|example|scopes|tags/.test(name) ? "{}" : "1";
}

test.each(migrations.map(({ name }, i) => [name, i] as const))(
  "after %s and what comes before it, with data, the rest gives the same database, and keeps the data",
  (_, last) => {
    const whole = new Database(":memory:");
    migrate(whole);
    const db = new Database(":memory:");
    migrate(db, migrations.slice(0, last + 1));
    fill(db);
    const before = new Map(tablesOf(db).map((table) => [table, rowsOf(db, table)]));
    migrate(db);
    expect(schemaOf(db)).toEqual(schemaOf(whole));
    expect(lostRows(before, db)).toEqual([]);
    expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    // Nothing is left to be done.
    migrate(db);
    expect(schemaOf(db)).toEqual(schemaOf(whole));
  },
);
