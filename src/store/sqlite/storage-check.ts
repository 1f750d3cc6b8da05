import { Database } from "bun:sqlite";
import { statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { type StorageFault, StoreError } from "../../domain/store.ts";
import { databaseIn, lockFile, pidFile } from "./directory.ts";
import { codeOf, ReplacedDatabase, storageFaultOf, TakenDirectory } from "./faults.ts";
import { missingIn } from "./migrations.ts";

/*
 * Whether a database is still this process's own, and its disk usable.
 *
 * The lock of a data directory keeps a second writer out, unless its file is removed, or locks do not reach the other
 * host. Two writers would give the same numbers to different events, and overwrite each other's staged events. So each
 * transaction of a writer begins with the question whether it is still the only one.
 */

/** The largest `user_version` of SQLite. */
const largestNumber = 2 ** 31 - 1;

/**
 * Makes this connection the writer of a database, which ends the right of any other: the writer's number is the
 * `user_version` in the header of the database, and each writer takes the next one. Call it within a transaction,
 * before reading what later work relies on. Returns a function that throws `TakenDirectory` when another connection
 * has become the writer. That function is exact within a transaction that holds the write lock, because every commit
 * of another connection on this host changes `data_version`.
 */
export function becomeWriter(db: Database): () => void {
  const writer = db.prepare<{ user_version: number }, []>("PRAGMA user_version");
  const me = ((writer.get()?.user_version ?? 0) % largestNumber) + 1;
  db.run(`PRAGMA user_version = ${me}`);
  const versionOf = db.prepare<{ data_version: number }, []>("PRAGMA data_version");
  let seen: number | undefined;
  return () => {
    const version = versionOf.get()?.data_version;
    if (version === seen) return;
    // A checkpoint, Litestream or an operator's shell changes the version as well.
    if (writer.get()?.user_version !== me) throw new TakenDirectory();
    seen = version;
  };
}

/**
 * Returns a function that tells whether another process has locked a directory that this process has locked. A removed
 * file of the lock alone is not a sign of that.
 */
function takenSince(directory: string): () => boolean {
  // The file with the pid is replaced by each process that gets the lock, also by one on another host.
  const look = () => [lockFile, pidFile].map((name) => identityOf(join(directory, name)));
  const before = look();
  return () => look().some((now, i) => now !== null && now !== before[i]);
}

/** Returns device and inode of a file; null if it does not exist or cannot be examined. */
function identityOf(file: string): string | null {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}` : null;
  } catch {
    return null;
  }
}

/** With less free space, a commit of the usual size does not fit, and the disk counts as full. */
const leastBytes = 256 * 1024;

/** With this much free space, a disk that was full no longer counts as full. */
const recoveredBytes = 1024 * 1024;

/**
 * Returns devices and inodes of a directory's database and its write-ahead log, to detect that one was replaced. They
 * stay the same as long as the database is open. A missing file has none.
 */
function databaseIdentity(directory: string): string {
  const file = databaseIn(directory);
  return [file, `${file}-wal`]
    .map((path) => statSync(path, { throwIfNoEntry: false }))
    .map((found) => (found ? `${found.dev}:${found.ino}` : ""))
    .join(" ");
}

/**
 * Returns a function that throws `TakenDirectory` once another process has locked the directory of an open database,
 * and `ReplacedDatabase` once the files of the database are no longer those in its directory: what is written to them
 * then ends with the process.
 */
export function requireSameFiles(directory: string): () => void {
  const identity = databaseIdentity(directory);
  const isTaken = takenSince(directory);
  return () => {
    if (isTaken()) throw new TakenDirectory();
    if (currentIdentity(directory, identity) !== identity) throw new ReplacedDatabase();
  };
}

/** Returns `otherwise` where the files cannot be examined, which says nothing about them. */
function currentIdentity(directory: string, otherwise: string): string {
  try {
    return databaseIdentity(directory);
  } catch {
    return otherwise;
  }
}

/**
 * Returns a function that quickly checks the storage of a directory whose database this process has opened: the lock,
 * the file, the first pages that SQLite reads, and the free space. It returns the fault, or null. `wasFull` says
 * whether the disk was full at the last check, so that more free space is required.
 */
export function storageCheck(directory: string): (wasFull: boolean) => StorageFault | null {
  const identity = databaseIdentity(directory);
  const isTaken = takenSince(directory);
  return (wasFull) => {
    try {
      if (isTaken()) return "taken";
      if (databaseIdentity(directory) !== identity) return "replaced";
      const damage = damageIn(directory);
      if (damage !== null) return damage;
      return freeBytes(directory) < (wasFull ? recoveredBytes : leastBytes) ? "full" : null;
    } catch {
      return "failing";
    }
  };
}

/**
 * Reads over a new connection, whose cache is empty. The file is not opened without SQLite, because closing it would
 * release the process's POSIX locks.
 */
function damageIn(directory: string): StorageFault | null {
  let db: Database | null = null;
  try {
    db = new Database(databaseIn(directory), { readonly: true });
    db.run("PRAGMA busy_timeout = 100");
    return missingIn(db).length === 0 ? null : "damaged";
  } catch (error) {
    // A missing table or migration is damage. Other errors, such as a held lock or a lack of descriptors, say nothing
    // about the storage.
    const isMissing = error instanceof StoreError || codeOf(error) === "SQLITE_ERROR";
    return isMissing ? "damaged" : storageFaultOf(error);
  } finally {
    db?.close();
  }
}

/** Returns the bytes that this user may still write; Infinity when the file system does not report it. */
function freeBytes(directory: string): number {
  const { bsize, blocks, bavail, bfree } = statfsSync(directory);
  if (blocks === 0) return Number.POSITIVE_INFINITY;
  // Some blocks are reserved for root.
  return bsize * (process.getuid?.() === 0 ? bfree : bavail);
}
