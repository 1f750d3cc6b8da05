import { Database } from "bun:sqlite";
import { resolve } from "node:path";
import { noRoom } from "../../../domain/backups.ts";
import { sessionFamily } from "../../../domain/tokens.ts";
import { StoreError } from "../../faults.ts";
import { heldSetting } from "../../settings.ts";
import { databaseIn } from "./directory.ts";
import { codeOf, isDamage } from "./faults.ts";
import { isOurs, missingIn } from "./migrations.ts";

/**
 * Copies the database of a directory that this process has open, as it is at one moment, into an empty file. Writes
 * go on meanwhile; the write-ahead log grows until this is done. Takes long: not for a thread that answers.
 * Throws `unavailable` where there is no room, `StoreError` where the database is damaged.
 *
 * @param givesBack whether the copy is one that gives its free pages back, whatever the database is
 */
export function copyDatabase(directory: string, file: string, { givesBack = false } = {}): void {
  reading(directory, (db) => {
    // Where the database itself cannot be changed to it, this is for the copy; else it would be written.
    const mode = db.query<{ auto_vacuum: number }, []>("PRAGMA auto_vacuum").get()?.auto_vacuum;
    if (givesBack && mode === 0) db.run("PRAGMA auto_vacuum = INCREMENTAL");
    vacuumInto(db, file);
  });
}

/** How large such a copy will be, in bytes: what the pages take that are in use. Throws as `copyDatabase` does. */
export function databaseSize(directory: string): number {
  const sql =
    "SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()";
  return reading(directory, (db) => db.query<{ bytes: number }, []>(sql).get()?.bytes ?? 0);
}

function reading<T>(directory: string, read: (db: Database) => T): T {
  return explained(() => {
    // Not `query_only`, under which nothing can be written to the copy either.
    const db = new Database(databaseIn(directory), { readonly: true });
    try {
      db.run("PRAGMA busy_timeout = 5000");
      return read(db);
    } finally {
      db.close();
    }
  });
}

function vacuumInto(db: Database, file: string): void {
  try {
    db.prepare("VACUUM INTO ?").run(resolve(file));
  } catch (error) {
    // So it calls a full disk, and a damaged page that refers to one beyond the largest number.
    if (codeOf(error) !== "SQLITE_FULL") throw error;
    requireWhole(db, "quick_check");
    throw noRoom();
  }
}

/** What is in a database. */
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
 * Throws a `StoreError` unless a file is a whole database of onair that this build can use, and returns what is in it.
 * `thorough`: every index is compared with its table, too, which takes longer.
 */
export function checkDatabase(file: string, { thorough }: { readonly thorough: boolean }): DatabaseCounts {
  return explained(() => {
    const db = new Database(file, { create: false, readwrite: true });
    try {
      requireWhole(db, thorough ? "integrity_check" : "quick_check");
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
 * Makes a closed database that of a copy: it sends nothing until that is released, and has no session of the console or the
 * portal, because one that was signed out since must not be valid again. @param since in ISO 8601
 */
export function beginCopy(file: string, since: string): void {
  const db = new Database(file, { create: false, readwrite: true });
  try {
    db.run("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", [heldSetting, since]);
    // A database of an older form has none of them.
    const has = (found: string) => db.query(`SELECT 1 FROM ${found}`).get() !== null;
    if (has("sqlite_master WHERE name = 'operator_sessions'")) db.run("DELETE FROM operator_sessions");
    if (has("pragma_table_info('tokens') WHERE name = 'family_id'"))
      db.run("DELETE FROM tokens WHERE family_id LIKE ? || '%'", [sessionFamily("")]);
    // Its log is left behind. Closing does the same, and says nothing where it fails.
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    db.close(true);
  }
}

function requireWhole(db: Database, pragma: "quick_check" | "integrity_check"): void {
  const [found] = db.query<Record<string, string>, []>(`PRAGMA ${pragma}(1)`).all();
  if (found?.[pragma] !== "ok") throw damaged(found?.[pragma] ?? "");
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
    `The database is damaged, or is not one of SQLite (${finding}). An earlier backup may be whole: onair restore FILE --data DIR`,
  );
}
