import { constants, Database } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, openSync, renameSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { count } from "drizzle-orm";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { StoreError } from "../../domain/store.ts";
import type { DirectoryLock, OpenOptions } from "../data-storage.ts";
import {
  becomeOwner,
  databaseIn,
  explain,
  lockDirectory,
  logBytes,
  partIn,
  removeDatabase,
  wrongFileIn,
} from "./directory.ts";
import { damaged, storageFaultOf } from "./faults.ts";
import { appliedMigrations, isNewest, isOurs, migrate, migrations, missingIn } from "./migrations.ts";
import { users } from "./schema.ts";
import { fillingSearch } from "./search.ts";
import { moveEarlierStaged } from "./staged.ts";
import { becomeWriter } from "./storage-check.ts";

/**
 * Reads the database of a directory without changing any file, whether or not a server has it open. Exception: after a
 * crash, when the write-ahead log is not yet in the database, SQLite creates the log's index file, as the next server
 * would. `read` may be called twice. A process of root becomes the owner of the directory first. Throws a `StoreError`
 * when the database cannot be read.
 */
export function inspect<T>(directory: string, read: (db: Database) => T): T {
  try {
    becomeOwner(directory);
    return inspected(directory, read);
  } catch (error) {
    throw explain(error, directory);
  }
}

function inspected<T>(directory: string, read: (db: Database) => T): T {
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

/** Reads over a connection, which may wait for another connection, and closes it. */
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

/** An open data directory: its database, and the lock that keeps other servers out until `close`. */
interface OpenDatabase {
  readonly db: Database;
  /**
   * Makes the connection the writer of the database, if it is not yet. Call it before each transaction. Throws an error
   * of SQLite, for example when the disk is full.
   *
   * @returns whether it was not the writer before, so that what was read may be outdated
   */
  ensureWriter(): boolean;
  /** Throws `TakenDirectory` when another connection has become the writer. Call it within each transaction. */
  requireWriter(): void;
  close(): void;
}

/** What `openDatabase` reports. */
type OpenEvents = Pick<OpenOptions, "applying" | "conflicted">;

const longestLogBytes = 64 * 1024 * 1024;

/**
 * Opens the database of a data directory, creates both if they are missing, and migrates to the current schema. Only
 * the owner may read the directory and files, because they contain signing secrets. Throws a `StoreError`, and then
 * leaves a file that is damaged or of another program unchanged.
 */
export function openDatabase(
  directory: string,
  lock: DirectoryLock = lockDirectory(directory),
  { applying, conflicted }: OpenEvents = {},
): OpenDatabase {
  try {
    const db = openForWriting(directory);
    migrate(db, migrations, applying);
    const writer = writerOf(db, directory, conflicted);
    try {
      writer.ensureWriter();
    } catch (error) {
      // Reads need no space. The first transaction makes this the writer when there is space again.
      if (storageFaultOf(error) !== "full") throw error;
    }
    return { db, ...writer, close: () => closeWriter(db, lock) };
  } catch (error) {
    lock.close();
    throw explain(error, directory);
  }
}

function writerOf(
  db: Database,
  directory: string,
  conflicted: OpenEvents["conflicted"] = () => {},
): Pick<OpenDatabase, "ensureWriter" | "requireWriter"> {
  let requireWriter: (() => void) | null = null;
  const becomeOne = db.transaction(() => {
    const made = becomeWriter(db);
    const conflict = moveEarlierStaged(db, directory);
    if (conflict) conflicted(conflict);
    return made;
  });
  return {
    ensureWriter() {
      if (requireWriter !== null) return false;
      // Other processes see it at once, and after a loss of power there are none. So it needs no sync.
      db.run("PRAGMA synchronous = NORMAL");
      try {
        requireWriter = becomeOne.immediate();
      } finally {
        db.run("PRAGMA synchronous = FULL");
      }
      return true;
    },
    requireWriter: () => requireWriter?.(),
  };
}

/** Opens the connection that writes, to a database of any version. */
function openForWriting(directory: string): Database {
  const file = databaseIn(directory);
  // Checked first, because SQLite also opens a file that may not be written, and fails at the first change.
  const wrong = wrongFileIn(directory);
  if (wrong !== null) throw new StoreError(`${wrong}.`);
  if (existsSync(file)) requireUsable(file);
  else {
    const part = partIn(directory);
    if (part !== null) throw new StoreError(`${part.message}: ${part.advice}.`, true);
    makeDatabase(directory);
  }
  for (const path of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(path)) chmodSync(path, 0o600);
  const db = new Database(file, { create: false, readwrite: true, strict: true });
  try {
    // Waits for a backup or an operator's shell.
    db.run("PRAGMA busy_timeout = 5000");
    db.run("PRAGMA journal_mode = WAL");
    // Acknowledged data must survive a power failure.
    db.run("PRAGMA synchronous = FULL");
    db.run("PRAGMA cache_size = -8192");
    // In 16 MB of log, a page that changes repeatedly is copied into the database only once.
    db.run("PRAGMA wal_autocheckpoint = 4000");
    // A backup prevents checkpoints, and lets the log grow. This shrinks the file afterwards.
    db.run(`PRAGMA journal_size_limit = ${longestLogBytes}`);
    // Savepoints copy pages, by default into a file.
    db.run("PRAGMA temp_store = MEMORY");
    db.run("PRAGMA foreign_keys = ON");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function closeWriter(db: Database, lock: DirectoryLock): void {
  // Does not wait for connections that still read, such as that of a backup in progress. The log is then left as it is.
  for (const last of ["PRAGMA optimize", "PRAGMA busy_timeout = 0", "PRAGMA wal_checkpoint(TRUNCATE)"]) {
    try {
      db.run(last);
    } catch {
      // Closes even with a full disk or a damaged table: the log has everything for the next start.
    }
  }
  db.close();
  lock.close();
}

/**
 * Creates the database of a new directory in another file, and renames it. So a database without tables is always a
 * damaged one, not one whose creation was interrupted, and no server continues with an empty one.
 */
function makeDatabase(directory: string): void {
  const partial = join(directory, "onair.making");
  removeDatabase(partial);
  // Created with this mode, because SQLite gives the log the mode that the database has.
  closeSync(openSync(partial, "wx", 0o600));
  const db = new Database(partial, { create: true });
  // The data directory may be the only place that is writable.
  db.run("PRAGMA temp_store = MEMORY");
  // This must be set while the database is empty.
  db.run("PRAGMA auto_vacuum = INCREMENTAL");
  db.run("PRAGMA journal_mode = WAL");
  migrate(db);
  db.close();
  // Durable with the first commit, because SQLite then creates its log and syncs the directory.
  renameSync(partial, databaseIn(directory));
}

/**
 * Throws a `StoreError`, or an error of SQLite, unless a file is a database of onair that this build knows. It reads
 * over a connection that cannot change the file, not even by emptying its log on closing. A rollback journal is the
 * exception: only a connection that writes can roll back the transaction in it.
 */
function requireUsable(file: string): void {
  const mode = existsSync(`${file}-journal`) ? { create: false, readwrite: true } : { readonly: true };
  readOver(new Database(file, mode), (db) => {
    if (statSync(file).size === 0) throw damaged(file, "it is empty");
    if (!isOurs(db)) {
      throw new StoreError(
        `${file} is a database of SQLite, but not one of onair. Name another directory with --data, or move that file away.`,
      );
    }
    const [missing] = missingIn(db);
    if (missing !== undefined) throw damaged(file, `${missing} is missing`);
  });
}

/**
 * Moves the write-ahead log into the database file, without migrating, and closes the file. Throws a `StoreError`, also
 * when another program reads the database, because a part of it then stays in the log.
 *
 * @returns the path of the file
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
  if (logBytes(file) === 0) return file;
  throw new StoreError(
    `${file} is being read by another program: end that program, and try again. Nothing was changed.`,
  );
}

interface UpgradeOptions {
  /** Whether to rebuild the search index. */
  readonly rebuildSearch: boolean;
  /** Called with the name of each migration before it begins. */
  readonly applying: (name: string) => void;
  /** Called with the number of users in the search index while it is filled. */
  readonly indexed: (users: number) => void;
}

/**
 * Upgrades a database of an older version as `openDatabase` does, and closes it. Yields to the event loop between the
 * steps of filling the search index. Releases the lock of the directory in any case. Throws `StoreError`.
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
    for (const users of rebuildSearch ? fillingSearch(db) : []) {
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
 * Opens a second connection without waiting for the one that writes. Returns null when that one must first create or
 * migrate the database, or report an error in it.
 */
export function openIfReady(directory: string): Database | null {
  if (!existsSync(databaseIn(directory))) return null;
  let db: Database | null = null;
  try {
    db = openForReading(directory);
    if (isNewest(db)) return db;
  } catch {
    // The connection that writes finds the same error and reports it.
  }
  db?.close();
  return null;
}

/** Opens a second, read-only connection in the process that has the directory open. */
export function openForReading(directory: string): Database {
  const db = new Database(databaseIn(directory), { create: false, readwrite: true, strict: true });
  db.run("PRAGMA busy_timeout = 5000");
  db.run(`PRAGMA cache_size = ${cachePages(db)}`);
  db.run("PRAGMA temp_store = MEMORY");
  db.run("PRAGMA query_only = ON");
  return db;
}

/**
 * The cache of a reader in pages: 1/32 of the database, from 4 to 16 MB. The inner pages of the B-trees of users must
 * stay in it. With ten million users 8 MB are too small, because leaf pages evict them; with a million, 16 MB are no
 * faster.
 */
function cachePages(db: Database): number {
  const count = "SELECT page_count FROM pragma_page_count";
  const pages = db.query<{ page_count: number }, []>(count).get()?.page_count ?? 0;
  return Math.min(4096, Math.max(1024, Math.ceil(pages / 32)));
}
