import { constants, Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { count } from "drizzle-orm";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { users } from "../schema/platform.ts";
import { databaseIn, explain } from "./directory.ts";
import { damaged } from "./faults.ts";
import { logBytes } from "./files.ts";
import { appliedMigrations, migrations } from "./migrations.ts";
import { becomeOwner } from "./owner.ts";

/**
 * Reads the database of a directory without changing any file, whether or not a server has it open. Exception: after a
 * crash, when the write-ahead log is not yet in the database, SQLite creates the log's index file, as the next server
 * would. `read` may be called twice. A process of root becomes the owner of the directory first. Throws a `StoreError`
 * when the database cannot be read.
 */
export function look<T>(directory: string, read: (db: Database) => T): T {
  try {
    becomeOwner(directory);
    return looking(directory, read);
  } catch (error) {
    throw explain(error, directory);
  }
}

function looking<T>(directory: string, read: (db: Database) => T): T {
  const file = databaseIn(directory);
  if (statSync(file, { throwIfNoEntry: false })?.size === 0) throw damaged(file, "it is empty");
  // A server that has ended leaves an empty log or none.
  const hasLog = () => logBytes(file) > 0;
  if (!hasLog()) {
    // No server has it open. SQLite would create an empty log to read it, unless it is opened as immutable.
    const uri = `${Bun.pathToFileURL(resolve(file)).href}?immutable=1`;
    const found = readOver(
      new Database(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI),
      read,
    );
    // With a log, a server has changed it meanwhile, and it must be read again.
    if (!hasLog()) return found;
  }
  return readOver(new Database(file, { readonly: true }), read);
}

/** Reads over a connection, which may wait for another one, and closes it. */
export function readOver<T>(db: Database, read: (db: Database) => T): T {
  try {
    db.run("PRAGMA busy_timeout = 5000");
    return read(db);
  } finally {
    db.close();
  }
}

/** The state of a database's schema. */
export interface SchemaState {
  /** Names of the applied migrations, in order. */
  readonly applied: readonly string[];
  /** Names of the migrations that this version would apply. */
  readonly pending: readonly string[];
  readonly users: number;
}

/** Returns the state of a schema. Throws a `StoreError` for a database that this version cannot migrate. */
export function schemaState(db: Database): SchemaState {
  const made = appliedMigrations(db);
  const pending = migrations.slice(made);
  const counted = made === 0 ? undefined : drizzle(db).select({ n: count() }).from(users).get();
  const nameOf = ({ name }: { name: string }) => name;
  return {
    applied: migrations.slice(0, made).map(nameOf),
    pending: pending.map(nameOf),
    users: counted?.n ?? 0,
  };
}
