import { constants, Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { count } from "drizzle-orm";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { users } from "../schema/platform.ts";
import { searchIsUnfilled } from "../search/filling.ts";
import { databaseIn, explain } from "./directory.ts";
import { damaged } from "./faults.ts";
import { appliedMigrations, migrations } from "./migrations.ts";

/**
 * Reads the database of a directory and leaves no trace there, whether or not a server has it open. After a crash, when
 * a log is left that was not taken in yet, SQLite makes an index of it beside it, as the next server would. `read` may
 * be called twice. Throws `StoreError` where it cannot be read.
 */
export function look<T>(directory: string, read: (db: Database) => T): T {
  try {
    return looking(directory, read);
  } catch (error) {
    throw explain(error, directory);
  }
}

function looking<T>(directory: string, read: (db: Database) => T): T {
  const file = databaseIn(directory);
  if (statSync(file, { throwIfNoEntry: false })?.size === 0) throw damaged(file, "it is empty");
  // A server that has ended leaves it behind, empty, or not at all.
  const hasLog = () => (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (!hasLog()) {
    // Closed. SQLite would make an empty log to read it, unless the file is opened as one that does not change.
    const uri = `${pathToFileURL(resolve(file)).href}?immutable=1`;
    const found = reading(
      new Database(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI),
      read,
    );
    // Unless it did change.
    if (!hasLog()) return found;
  }
  return reading(new Database(file, { readonly: true }), read);
}

function reading<T>(db: Database, read: (db: Database) => T): T {
  try {
    db.run("PRAGMA busy_timeout = 5000");
    return read(db);
  } finally {
    db.close();
  }
}

/** In which form a database is. */
export interface SchemaState {
  /** Names of the migrations that made it, in order. */
  readonly applied: readonly string[];
  /** Those that this version has beyond them. */
  readonly pending: readonly string[];
  /** Whether the index of the search is as this version wants it, and need not be made of all users. */
  readonly isSearchReady: boolean;
  readonly users: number;
}

/** Throws a `StoreError` for a database that this version cannot bring to its form. */
export function schemaState(db: Database): SchemaState {
  const made = appliedMigrations(db);
  const pending = migrations.slice(made);
  const isLaidOutAnew = pending.some(({ sql }) => sql.includes("CREATE VIRTUAL TABLE `user_search`"));
  const counted = made === 0 ? undefined : drizzle(db).select({ n: count() }).from(users).get();
  const nameOf = ({ name }: { name: string }) => name;
  return {
    applied: migrations.slice(0, made).map(nameOf),
    pending: pending.map(nameOf),
    isSearchReady: !counted?.n || !(isLaidOutAnew || searchIsUnfilled(db)),
    users: counted?.n ?? 0,
  };
}
