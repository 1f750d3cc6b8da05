import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { migrate, migrations } from "../../../src/store/sqlite/database/migrations.ts";
import { holds } from "../../support/property.ts";

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

/** Tables that are rebuilt from the users. */
const isDerived = (table: string) => /search/.test(table);

/** Earlier rows that no present row equals, by the columns that still exist. */
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

/** Values of columns: the same in all of one type, so that rows refer to each other. */
interface Sample {
  readonly number: number;
  readonly text: string;
  readonly bytes: Uint8Array;
  /** Whether nullable columns have a value as well. */
  readonly isWhole: boolean;
}

const smallest: Sample = { number: 1, text: "1", bytes: new Uint8Array([1]), isWhole: false };

/** Puts a row into each table that has none. */
function fill(db: Database, sample: Sample): void {
  db.run("PRAGMA foreign_keys = OFF");
  for (const table of tablesOf(db)) {
    if (rowsOf(db, table).length > 0) continue;
    const columns = db.query<Column, [string]>("SELECT * FROM pragma_table_info(?)").all(table);
    const required = columns.filter(({ notnull, dflt_value }) => notnull && dflt_value === null);
    const filled = sample.isWhole || required.length === 0 ? columns : required;
    const names = filled.map(({ name }) => name);
    const values = filled.map((column) => cellOf(column, sample));
    const sql = `INSERT INTO "${table}" (${names.map((name) => `"${name}"`).join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
    db.run(sql, values);
  }
  expect(db.query("PRAGMA foreign_key_check").all()).toEqual([]);
}

function cellOf({ name, type }: Column, { number, text, bytes }: Sample): string | number | Uint8Array {
  if (/INT|REAL/i.test(type)) return number;
  if (/BLOB/i.test(type)) return bytes;
  return /data|schema|example|scopes|tags/.test(name) ? JSON.stringify({ [text]: number }) : text;
}

const whole = new Database(":memory:");
migrate(whole);

/** Checks that a database of the first migrations gets the schema of a new one, and keeps its data. */
function becomesWhole(last: number, sample: Sample): void {
  const db = new Database(":memory:");
  migrate(db, migrations.slice(0, last + 1));
  fill(db, sample);
  const before = new Map(tablesOf(db).map((table) => [table, rowsOf(db, table)]));
  migrate(db);
  expect(schemaOf(db)).toEqual(schemaOf(whole));
  expect(lostRows(before, db)).toEqual([]);
  expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  expect(db.query("PRAGMA foreign_key_check").all()).toEqual([]);
  // Nothing is left to be done.
  migrate(db);
  expect(schemaOf(db)).toEqual(schemaOf(whole));
  db.close();
}

test.each(migrations.map(({ name }, i) => [name, i] as const))(
  "after %s and what comes before it, with data, the rest gives the same database, and keeps the data",
  (_, last) => becomesWhole(last, smallest),
);

test("the same holds for random data, from any migration on", () => {
  const sample = fc.record<Sample>({
    number: fc.maxSafeNat(),
    text: fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 60 }),
    isWhole: fc.boolean(),
  });
  holds(fc.property(fc.nat(migrations.length - 1), sample, becomesWhole), { numRuns: 30 });
});
