import { Database, SQLiteError } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../store.ts";
import { isMigrated, migrate } from "./migrations.ts";
import { fillingSearch, prepareSearch, searchIsUnfilled } from "./search.ts";

/** The name of the database in its directory. */
export const databaseFile = "onair.db";
/** Of the lock, and of the pid that its owner notes for whoever finds it locked. */
export const lockFile = "onair.lock";
export const pidFile = "onair.pid";

/** An open data directory: the database, and the lock that keeps other servers out until `close`. */
export interface OpenDatabase {
  readonly db: Database;
  close(): void;
}

const longestLogBytes = 64 * 1024 * 1024;

/** What keeps other servers out of a data directory. */
export interface DirectoryLock {
  close(): void;
}

/**
 * Opens the database of a data directory, creating both where missing, and brings it to the newest form.
 * Directory and files are for their owner alone, because they hold signing secrets. Throws `StoreError`.
 */
export function openDatabase(
  directory: string,
  lock: DirectoryLock = lockDirectory(directory),
): OpenDatabase {
  try {
    const db = openForWriting(directory);
    migrate(db);
    prepareSearch(db);
    return { db, close: () => closeWriter(db, lock) };
  } catch (error) {
    lock.close();
    throw explain(error, directory);
  }
}

/** The connection that writes, to a database in whatever form. */
function openForWriting(directory: string): Database {
  const file = join(directory, databaseFile);
  keepPrivate(file);
  const db = new Database(file, { create: true, strict: true });
  try {
    // Waits for a backup or an operator's shell; FULL, because what was acknowledged must survive a power cut.
    db.run("PRAGMA busy_timeout = 5000");
    db.run("PRAGMA journal_mode = WAL");
    db.run("PRAGMA synchronous = FULL");
    db.run("PRAGMA cache_size = -8192");
    // 16 MB: a page that is changed again and again is moved into the database once for all of that.
    db.run("PRAGMA wal_autocheckpoint = 4000");
    // What it has grown beyond that, while a backup kept it from being emptied, is given back.
    db.run(`PRAGMA journal_size_limit = ${longestLogBytes}`);
    // What savepoints copy of pages would else go through a file.
    db.run("PRAGMA temp_store = MEMORY");
    db.run("PRAGMA foreign_keys = ON");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** For its owner alone from the very beginning: SQLite makes the log with the mode that the database has then. */
function keepPrivate(file: string): void {
  // Never opened where it exists: closing it again would take SQLite's locks from this process.
  if (!existsSync(file)) closeSync(openSync(file, "wx", 0o600));
  for (const path of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(path)) chmodSync(path, 0o600);
}

function closeWriter(db: Database, lock: DirectoryLock): void {
  db.run("PRAGMA optimize");
  // Whoever still reads, such as a backup that was given up, is not waited for: the log is then left as it is.
  db.run("PRAGMA busy_timeout = 0");
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  lock.close();
}

/**
 * Has everything in the one file of the database, which nobody has open then, as it is before an upgrade. Throws
 * `StoreError`.
 *
 * @returns the path of that file
 */
export function settleDatabase(directory: string): string {
  const file = join(directory, databaseFile);
  try {
    const db = new Database(file, { create: false, readwrite: true });
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    db.close(true);
  } catch (error) {
    throw explain(error, directory);
  }
  return file;
}

export interface UpgradeOptions {
  /** The index of the search is emptied and filled anew, whatever is in it. */
  readonly rebuildSearch: boolean;
  /** Told the name of each migration before it begins. */
  readonly applying: (name: string) => void;
  /** Told how many users the index of the search holds while it is filled. */
  readonly indexed: (users: number) => void;
}

/**
 * What `openDatabase` does to a database of an older version, and nothing else; others have their turn between the
 * steps of the search. The directory's lock is let go of at the end, whichever. Throws `StoreError`.
 */
export async function upgradeDatabase(
  directory: string,
  lock: DirectoryLock,
  { rebuildSearch, applying, indexed }: UpgradeOptions,
): Promise<void> {
  let db: Database | null = null;
  try {
    db = openForWriting(directory);
    migrate(db, undefined, applying);
    for (const users of fillingSearch(db, { anew: rebuildSearch })) {
      indexed(users);
      await Bun.sleep(0);
    }
  } catch (error) {
    db?.close();
    lock.close();
    throw explain(error, directory);
  }
  closeWriter(db, lock);
}

/**
 * A second connection, opened without waiting for the one that writes; null where that one has something to do, or to
 * complain of, before anybody may read.
 */
export function openIfReady(directory: string): Database | null {
  if (!existsSync(join(directory, databaseFile))) return null;
  const db = openForReading(directory);
  try {
    if (isMigrated(db) && !searchIsUnfilled(db)) return db;
  } catch {
    // The connection that writes finds the same and says it.
  }
  db.close();
  return null;
}

/** A second connection of the process that has the directory open; it cannot change anything. */
export function openForReading(directory: string): Database {
  const db = new Database(join(directory, databaseFile), { create: false, readwrite: true, strict: true });
  db.run("PRAGMA busy_timeout = 5000");
  db.run("PRAGMA cache_size = -8192");
  db.run("PRAGMA temp_store = MEMORY");
  db.run("PRAGMA query_only = ON");
  return db;
}

/**
 * Takes a data directory for this process alone, until `close`; it is made where missing. Throws `StoreError` where it
 * is in use or cannot be used.
 *
 * The lock is SQLite's own on a second, empty database: the kernel lets go of it when the process ends, however
 * it ends, so that no stale lock is ever left behind. The file with the pid only serves the message.
 */
export function lockDirectory(directory: string): DirectoryLock {
  const pidPath = join(directory, pidFile);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const lock = new Database(join(directory, lockFile), { create: true });
    // As long as `holderOf` may take to look.
    lock.run("PRAGMA busy_timeout = 50");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("BEGIN EXCLUSIVE");
    writeFileSync(pidPath, `${process.pid}\n`, { mode: 0o600 });
    return lock;
  } catch (error) {
    if (error instanceof SQLiteError && error.code === "SQLITE_BUSY") {
      const pid = readPid(pidPath);
      const owner = pid === null ? "another process" : `process ${pid}`;
      throw new StoreError(
        `The data directory ${directory} is in use by ${owner}. Stop it, name another directory with --data, or go through it with --url.`,
      );
    }
    throw explain(error, directory);
  }
}

/** Who has a directory for itself: nobody (null), or a process, whose pid may be unknown. Changes nothing. */
export function holderOf(directory: string): { readonly pid: number | null } | null {
  const file = join(directory, lockFile);
  if (!existsSync(file)) return null;
  const lock = new Database(file, { readonly: true });
  try {
    lock.run("PRAGMA busy_timeout = 0");
    lock.query("SELECT 1 FROM sqlite_schema").get();
    return null;
  } catch (error) {
    // Any other error is of a lock whose owner has crashed, which the next one takes over.
    const isHeld = error instanceof SQLiteError && error.code === "SQLITE_BUSY";
    return isHeld ? { pid: readPid(join(directory, pidFile)) } : null;
  } finally {
    lock.close();
  }
}

function readPid(file: string): number | null {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || null;
  } catch {
    return null;
  }
}

/** What SQLite or the system says of a data directory, for people: a `StoreError`, or else the error itself. */
export function explain(error: unknown, directory: string): unknown {
  if (error instanceof StoreError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (/^(EACCES|EPERM|EROFS|ENOENT|SQLITE_CANTOPEN|SQLITE_READONLY)/.test(code)) {
    return new StoreError(
      `The data directory ${directory} is not writable (${code}). Give this user the right to write there, or name another directory with --data.`,
    );
  }
  if (/^(ENOTDIR|EEXIST)/.test(code)) {
    return new StoreError(`${directory} is not a directory. Name another one with --data.`);
  }
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code)) {
    return new StoreError(
      `${join(directory, databaseFile)} is not a database of onair, or is damaged (${code}).`,
    );
  }
  return error;
}
