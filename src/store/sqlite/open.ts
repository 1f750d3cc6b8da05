import { Database, SQLiteError } from "bun:sqlite";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { StoreError } from "../store.ts";
import { codeOf, damaged, isDamage } from "./faults.ts";
import { isNewest, isOurs, migrate, missingIn } from "./migrations.ts";
import { prepareSearch, searchIsUnfilled } from "./search.ts";

/** The name of the database in its directory. */
export const databaseFile = "onair.db";

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

/** The file of the database in a data directory. */
export const databaseIn = (directory: string): string => join(directory, databaseFile);

/**
 * Opens the database of a data directory, creating both where missing, and brings it to the newest form.
 * Directory and files are for their owner alone, because they hold signing secrets. Throws `StoreError`; a file that
 * is damaged or not ours is then as it was.
 */
export function openDatabase(
  directory: string,
  lock: DirectoryLock = lockDirectory(directory),
): OpenDatabase {
  try {
    const file = databaseIn(directory);
    // First of all, because SQLite opens what may not be written as well, and only the first change fails.
    const wrong = wrongFileIn(directory);
    if (wrong !== null) throw new StoreError(`${wrong}.`);
    if (existsSync(file)) requireUsable(file);
    else makeDatabase(directory);
    const db = new Database(file, { create: false, readwrite: true, strict: true });
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
    migrate(db);
    prepareSearch(db);
    chmodSync(file, 0o600);
    return { db, close: () => close(db, lock) };
  } catch (error) {
    lock.close();
    throw explain(error, directory);
  }
}

function close(db: Database, lock: DirectoryLock): void {
  // Whoever still reads, such as a backup that was given up, is not waited for: the log is then left as it is.
  for (const last of ["PRAGMA optimize", "PRAGMA busy_timeout = 0", "PRAGMA wal_checkpoint(TRUNCATE)"]) {
    try {
      db.run(last);
    } catch {
      // A full disk or a damaged table is no reason not to close: the log has everything, for the next start.
    }
  }
  db.close();
  lock.close();
}

/**
 * Makes the database of a new directory, beside its place: so what is found in that place without a table was damaged,
 * and not merely begun, and nobody goes on with an empty one.
 */
function makeDatabase(directory: string): void {
  const partial = join(directory, "onair.making");
  for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(partial + suffix, { force: true });
  const db = new Database(partial, { create: true });
  db.run("PRAGMA journal_mode = WAL");
  migrate(db);
  db.close();
  chmodSync(partial, 0o600);
  // On disk with the first commit: SQLite then syncs the directory, in which it makes its log.
  renameSync(partial, databaseIn(directory));
}

/**
 * Throws a `StoreError`, or what SQLite throws, unless a file is a database of onair that this build knows. Over a
 * connection that cannot change it, not even by emptying its log when it is closed; except where there is a journal, for
 * only one that writes can roll back what a transaction of another journal mode has left.
 */
function requireUsable(file: string): void {
  const mode = existsSync(`${file}-journal`) ? { create: false, readwrite: true } : { readonly: true };
  const db = new Database(file, mode);
  try {
    db.run("PRAGMA busy_timeout = 5000");
    if (statSync(file).size === 0) throw damaged(file, "it is empty");
    if (!isOurs(db)) {
      throw new StoreError(
        `${file} is a database of SQLite, but not one of onair. Name another directory with --data, or move that file away.`,
      );
    }
    const [missing] = missingIn(db);
    if (missing !== undefined) throw damaged(file, `${missing} is missing`);
  } finally {
    db.close();
  }
}

/**
 * A second connection, opened without waiting for the one that writes; null where that one has something to do, or to
 * complain of, before anybody may read.
 */
export function openIfReady(directory: string): Database | null {
  if (!existsSync(databaseIn(directory))) return null;
  let db: Database | null = null;
  try {
    db = openForReading(directory);
    if (isNewest(db) && !searchIsUnfilled(db)) return db;
  } catch {
    // The connection that writes finds the same and says it.
  }
  db?.close();
  return null;
}

/** A second connection of the process that has the directory open; it cannot change anything. */
export function openForReading(directory: string): Database {
  const db = new Database(databaseIn(directory), { create: false, readwrite: true, strict: true });
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
  const pidFile = join(directory, "onair.pid");
  const lockFile = join(directory, "onair.lock");
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const lock = new Database(lockFile, { create: true });
    lock.run("PRAGMA busy_timeout = 0");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("BEGIN EXCLUSIVE");
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
    return lock;
  } catch (error) {
    if (error instanceof SQLiteError && error.code === "SQLITE_BUSY") {
      const pid = readPid(pidFile);
      const owner = pid === null ? "another process" : `process ${pid}`;
      throw new StoreError(
        `The data directory ${directory} is in use by ${owner}. Stop it, name another directory with --data, or go through it with --url.`,
      );
    }
    if (isDamage(error)) {
      throw new StoreError(`${lockFile} is damaged (${codeOf(error)}). Remove it: it holds nothing.`);
    }
    throw explain(error, directory);
  }
}

function readPid(file: string): number | null {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || null;
  } catch {
    return null;
  }
}

/** The error for operators where a data directory cannot be used. */
function explain(error: unknown, directory: string): unknown {
  if (error instanceof StoreError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (isDamage(error)) return damaged(databaseIn(directory), code, error);
  if (/^(ENOTDIR|EEXIST)/.test(code)) {
    return new StoreError(`${directory} is not a directory. Name another one with --data.`);
  }
  if (!/^(E[A-Z]+|SQLITE_(CANTOPEN|READONLY|FULL|IOERR).*)$/.test(code)) return error;
  const wrong = wrongFileIn(directory);
  if (wrong !== null) return new StoreError(`${wrong} (${code}).`);
  if (/^(ENOSPC|EDQUOT|EIO|SQLITE_FULL|SQLITE_IOERR)/.test(code)) {
    return new StoreError(`The disk of the data directory ${directory} is full, or fails (${code}).`);
  }
  return new StoreError(
    `The data directory ${directory} is not writable (${code}). Give this user the right to write there, or name another directory with --data.`,
  );
}

/** What is wrong with one of the files there, and what to do, where that can be seen without opening it. */
function wrongFileIn(directory: string): string | null {
  const names = ["onair.lock", "onair.pid", ...["", "-wal", "-shm"].map((suffix) => databaseFile + suffix)];
  for (const file of names.map((name) => join(directory, name))) {
    if (!existsWithoutFollowing(file)) continue;
    if (!statSync(file, { throwIfNoEntry: false })?.isFile())
      return `${file} is not a file. Move it away, or name another directory with --data`;
    if (!isUsable(file)) return `${file} may not be read and written. Give this user the right to do that`;
  }
  return null;
}

/** Whether there is something of that name, be it a link that leads nowhere. */
function existsWithoutFollowing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // not even its directory may be looked into
  }
}

function isUsable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
