import { Database } from "bun:sqlite";
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import start from "../../../drizzle/sqlite/0000_start.sql" with { type: "text" };
import { StoreError } from "../../domain/store.ts";
import {
  type AppliedMigration,
  checkedCount,
  hashOf,
  type Migration,
  requireAllKnown,
  statementsOf,
} from "../applied-migrations.ts";
import { tables } from "./dialect.ts";

/** All migrations in order; imported as text, so that they are inside the executable. */
export const migrations: readonly Migration[] = [{ name: "0000_start", sql: start }];

/**
 * Migrates the database to the current schema, in one transaction. `applying` is called with the name of each migration
 * before it begins. Throws a `StoreError` as `checkMigrations` does.
 */
export function migrate(
  db: Database,
  list: readonly Migration[] = migrations,
  applying: (name: string) => void = () => {},
): void {
  db.run(
    "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL)",
  );
  const applied = checkMigrations(db, list);
  if (applied === list.length) return;
  // Rebuilding a table drops it, which with foreign keys on would delete the rows that refer to it. The pragma has no
  // effect inside a transaction.
  db.run("PRAGMA foreign_keys = OFF");
  try {
    db.transaction(() => apply(db, list, applied, applying)).immediate();
  } finally {
    db.run("PRAGMA foreign_keys = ON");
  }
}

/** Whether a database is one of onair, of any version. */
export function isOurs(db: Database): boolean {
  const columns = db
    .query("SELECT 1 FROM pragma_table_info('migrations') WHERE name IN ('name', 'hash')")
    .all();
  return columns.length === 2 && db.query("SELECT 1 FROM migrations").get() !== null;
}

/** Whether a database has the current schema, complete. Only reads. Throws as `checkMigrations` does. */
export function isNewest(db: Database): boolean {
  return checkMigrations(db) === migrations.length && missingObjects(db).length === 0;
}

/**
 * Returns the objects that a database of onair lacks, such as "the table users". Empty for an older schema, of which
 * that is not known. Only reads. Throws as `checkMigrations` does.
 */
export function missingIn(db: Database): string[] {
  return checkMigrations(db) === migrations.length ? missingObjects(db) : [];
}

/** Returns the number of applied migrations. Only reads. Throws as `checkedCount` does. */
function checkMigrations(db: Database, list: readonly Migration[] = migrations): number {
  const applied = db.query<AppliedMigration, []>("SELECT name, hash FROM migrations ORDER BY number").all();
  const wayBack = ", or restore a backup from before the upgrade";
  return checkedCount(list, applied, { what: "The data", wayBack, isMisuse: false });
}

/** Throws a `StoreError` when a newer version has added to a database what a copy by this build would lose. */
export function requireNoAdditions(db: Database, location: string): void {
  const applied = db.query<AppliedMigration, []>("SELECT name, hash FROM migrations ORDER BY number").all();
  requireAllKnown(migrations, applied, location);
}

/** Returns the number of applied migrations: 0 for an empty database. Throws `StoreError` for another program's. */
export function appliedMigrations(db: Database): number {
  if (isOurs(db)) return checkMigrations(db);
  // An interrupted first start leaves the empty table of migrations.
  if (db.query("SELECT 1 FROM sqlite_schema WHERE tbl_name <> 'migrations'").get() === null) return 0;
  throw new StoreError("It is a database of SQLite, but not one of onair.");
}

function apply(
  db: Database,
  list: readonly Migration[],
  from: number,
  applying: (name: string) => void,
): void {
  for (const [number, migration] of list.entries()) {
    if (number < from) continue;
    const { name } = migration;
    applying(name);
    for (const statement of statementsOf(migration)) db.run(statement);
    db.run("INSERT INTO migrations (number, name, hash) VALUES (?, ?, ?)", [number, name, hashOf(migration)]);
  }
  const broken = db.query("PRAGMA foreign_key_check").all();
  if (broken.length > 0)
    throw new StoreError("A migration would leave rows with dangling references. Nothing was changed.");
}

const configs = Object.values<SQLiteTable>(tables).map(getTableConfig);

/** The tables, indexes and triggers of the current schema. */
export const objects = {
  table: [
    ...configs.map(({ name }) => name),
    // The search index and the table of migrations have no drizzle schema.
    "migrations",
    "user_search",
    ...["config", "data", "docsize", "idx"].map((part) => `user_search_${part}`),
  ].sort(),
  index: configs
    .flatMap(({ indexes, columns }) => [
      ...indexes.map(({ config }) => config.name),
      ...columns.flatMap(({ isUnique, uniqueName }) => (isUnique ? (uniqueName ?? []) : [])),
    ])
    .sort(),
  trigger: ["subscription_made", "subscription_removed"],
};

/** Returns the objects that a database lacks, such as "the table users". Further objects of an operator are ignored. */
function missingObjects(db: Database): string[] {
  const rows = db.query<{ type: string; name: string }, []>("SELECT type, name FROM sqlite_schema").all();
  const found = new Set(rows.map(({ type, name }) => `the ${type} ${name}`));
  return Object.entries(objects)
    .flatMap(([type, names]) => names.map((name) => `the ${type} ${name}`))
    .filter((object) => !found.has(object));
}

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

/** Made by `PRAGMA optimize`; not part of a migration. */
const statistics = "table sqlite_stat1 sqlite_stat1 CREATE TABLE sqlite_stat1(tbl,idx,stat)";

function schemaOf(db: Database): Map<string, SchemaRow> {
  const rows = db.query<SchemaRow, []>("SELECT type, name, tbl_name, sql FROM sqlite_schema").all();
  return new Map(rows.map((row) => [[row.type, row.name, row.tbl_name, row.sql].join(" "), row]));
}

/**
 * Returns an object of the schema that differs from what the applied migrations make, such as "the trigger x": one that
 * they do not make, or one with another definition. Null when there is none. Only reads. Throws as `checkMigrations`
 * does.
 */
export function foreignObject(db: Database): string | null {
  const made = new Database(":memory:");
  try {
    migrate(made, migrations.slice(0, checkMigrations(db)));
    const own = schemaOf(made);
    for (const [definition, { type, name }] of schemaOf(db)) {
      if (!own.has(definition) && definition !== statistics) return `the ${type} ${name}`;
    }
    return null;
  } finally {
    made.close();
  }
}
