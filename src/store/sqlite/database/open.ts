import { Database } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../faults.ts";
import { moveStaged } from "../deliveries/staged.ts";
import { fillingSearch, prepareSearch, searchIsUnfilled } from "../search/filling.ts";
import { databaseIn, explain, removePartialCopy, requireNoParts, wrongFileIn } from "./directory.ts";
import { damaged } from "./faults.ts";
import { type DirectoryLock, lockDirectory } from "./lock.ts";
import { isNewest, isOurs, migrate, missingIn } from "./migrations.ts";

/** An open data directory: the database, and the lock that keeps other servers out until `close`. */
interface OpenDatabase {
  readonly db: Database;
  close(): void;
}

const longestLogBytes = 64 * 1024 * 1024;

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
    const db = openForWriting(directory);
    removePartialCopy(directory);
    migrate(db);
    moveStaged(db);
    prepareSearch(db);
    return { db, close: () => closeWriter(db, lock) };
  } catch (error) {
    lock.close();
    throw explain(error, directory);
  }
}

/** The connection that writes, to a database in whatever form. */
function openForWriting(directory: string): Database {
  const file = databaseIn(directory);
  // First of all, because SQLite opens what may not be written as well, and only the first change fails.
  const wrong = wrongFileIn(directory);
  if (wrong !== null) throw new StoreError(`${wrong}.`);
  if (existsSync(file)) requireUsable(file);
  else {
    requireNoParts(directory);
    makeDatabase(directory);
  }
  for (const path of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(path)) chmodSync(path, 0o600);
  const db = new Database(file, { create: false, readwrite: true, strict: true });
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

function closeWriter(db: Database, lock: DirectoryLock): void {
  // Does not wait for connections that still read, such as that of a backup that was given up: the log is then left as it is.
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
 * and not merely begun, and no server goes on with an empty one.
 */
function makeDatabase(directory: string): void {
  const partial = join(directory, "onair.making");
  for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(partial + suffix, { force: true });
  // For its owner alone from the very beginning: SQLite makes the log with the mode that the database has then.
  closeSync(openSync(partial, "wx", 0o600));
  const db = new Database(partial, { create: true });
  // Before there is anything in it; of what exists, `compactDatabase` makes such a database.
  db.run("PRAGMA auto_vacuum = INCREMENTAL");
  db.run("PRAGMA journal_mode = WAL");
  migrate(db);
  db.close();
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
 * Has everything in the one file of the database, which is open nowhere then, as it is before an upgrade. Throws
 * `StoreError`, also where another program reads it: then a part of it stays in its log.
 *
 * @returns the path of that file
 */
export function settleDatabase(directory: string): string {
  const file = databaseIn(directory);
  try {
    const db = new Database(file, { create: false, readwrite: true });
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    db.close(true);
  } catch (error) {
    throw explain(error, directory);
  }
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0) return file;
  throw new StoreError(
    `${file} is being read by another program: end that program, and try again. Nothing was changed.`,
  );
}

interface UpgradeOptions {
  /** The index of the search is emptied and filled anew, whatever is in it. */
  readonly rebuildSearch: boolean;
  /** Called with the name of each migration before it begins. */
  readonly applying: (name: string) => void;
  /** Called with how many users the index of the search holds while it is filled. */
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
 * report, before the database may be read.
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
  db.run(`PRAGMA cache_size = ${cachePages(db)}`);
  db.run("PRAGMA temp_store = MEMORY");
  db.run("PRAGMA query_only = ON");
  return db;
}

/**
 * Pages of the database that a reader keeps in memory: 1 in 32, and 4 to 16 MB. All pages of the B-trees of users but
 * the leaves have to stay there. With ten million users 8 MB are too few for that, because leaves drive the others out;
 * among a million 16 MB are no faster.
 */
function cachePages(db: Database): number {
  const count = "SELECT page_count FROM pragma_page_count";
  const pages = db.query<{ page_count: number }, []>(count).get()?.page_count ?? 0;
  return Math.min(4096, Math.max(1024, Math.ceil(pages / 32)));
}
