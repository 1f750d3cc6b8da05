import { Database } from "bun:sqlite";
import { resolve } from "node:path";
import { noSpaceForBackup } from "../../domain/backups.ts";
import { heldSetting, StoreError } from "../../domain/store.ts";
import { sessionFamily } from "../../domain/tokens.ts";
import { databaseIn } from "./directory.ts";
import { codeOf, isDamage } from "./faults.ts";
import { foreignObject, isOurs, missingIn } from "./migrations.ts";
import { readOver } from "./open.ts";
import { brokenPages } from "./sizes.ts";

/**
 * Copies a consistent snapshot of a directory's database into an empty file. Writes continue meanwhile, and the
 * write-ahead log grows until the copy is complete. This takes long: do not call it in a thread that answers requests.
 * Throws `unavailable` when the disk is full, and a `StoreError` when the database is damaged.
 */
export function copyDatabase(directory: string, file: string): void {
  reading(directory, (db) => vacuumInto(db, file));
}

/** Returns the bytes that `copyDatabase` would write: all pages in use. Throws `StoreError` for a damaged database. */
export function databaseSize(directory: string): number {
  const sql =
    "SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()";
  return reading(directory, (db) => db.query<{ bytes: number }, []>(sql).get()?.bytes ?? 0);
}

function reading<T>(directory: string, read: (db: Database) => T): T {
  // Not `query_only`, because it also prevents writing the copy.
  return explained(() => readOver(new Database(databaseIn(directory), { readonly: true }), read));
}

function vacuumInto(db: Database, file: string): void {
  try {
    db.prepare("VACUUM INTO ?").run(resolve(file));
  } catch (error) {
    // SQLite reports this for a full disk, and for a damaged page that refers to an impossible page number.
    if (codeOf(error) !== "SQLITE_FULL") throw error;
    requireWhole(db, { thorough: false });
    throw noSpaceForBackup();
  }
}

/** Counts of rows that are shown for a backup. */
export interface DatabaseCounts {
  readonly users: number;
  readonly applications: number;
  readonly subscriptions: number;
  readonly events: number;
}

const countsSql =
  "SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM applications) AS applications, " +
  "(SELECT count(*) FROM subscriptions) AS subscriptions, (SELECT count(*) FROM events) AS events";

/**
 * Checks that a file is an undamaged database of onair which this build can use, and returns its counts. Throws a
 * `StoreError` if it is not.
 *
 * @param options.thorough also compares every index with its table, which takes longer
 */
export function checkDatabase(file: string, { thorough }: { readonly thorough: boolean }): DatabaseCounts {
  return explained(() => {
    const db = new Database(file, { create: false, readwrite: true });
    try {
      requireWhole(db, { thorough });
      if (!isOurs(db)) throw new StoreError("It is a database of SQLite, but not one of onair.");
      const [missing] = missingIn(db);
      if (missing !== undefined) throw damaged(`${missing} is missing`);
      const counts = db.query<DatabaseCounts, []>(countsSql).get();
      if (counts === null) throw damaged("it cannot be read");
      return counts;
    } finally {
      db.close();
    }
  });
}

/**
 * Throws a `StoreError` for a database of onair whose schema has an object that the migrations do not make: a trigger,
 * for example, would run with each write of the server. Only reads.
 */
export function requireOwnSchema(file: string): void {
  const db = new Database(file, { create: false, readwrite: true });
  try {
    const foreign = foreignObject(db);
    if (foreign === null) return;
    throw new StoreError(
      `Its schema has ${foreign.toWellFormed().slice(0, 200)}, which is not as onair makes it. A backup that onair made has only its own tables, indexes and triggers.`,
    );
  } finally {
    db.close();
  }
}

/**
 * Prepares a closed database to be served as a copy. Sending is held until an operator releases it. Sessions of the
 * console and the portal are removed, because one that was ended since must not become valid again.
 *
 * @param since the time since which sending is held, in ISO 8601
 */
export function beginCopy(file: string, since: string): void {
  const db = new Database(file, { create: false, readwrite: true });
  try {
    db.run("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", [heldSetting, since]);
    db.run("DELETE FROM operator_sessions");
    db.run("DELETE FROM tokens WHERE family_id LIKE ? || '%'", [sessionFamily("")]);
    // The log is not moved with the file. Closing would empty the log, too, but would not report a failure.
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    db.close(true);
  }
}

function requireWhole(db: Database, { thorough }: { readonly thorough: boolean }): void {
  const [finding] = brokenPages(db, thorough);
  if (finding !== undefined) throw damaged(finding);
}

function explained<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw isDamage(error) && error instanceof Error ? damaged(error.message) : error;
  }
}

function damaged(finding: string): StoreError {
  return new StoreError(
    `The database is damaged, or is not one of SQLite (${finding}). Restore an earlier backup: onair restore FILE --data DIR`,
  );
}
