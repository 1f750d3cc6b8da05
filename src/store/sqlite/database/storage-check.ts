import { Database } from "bun:sqlite";
import { statfsSync, statSync } from "node:fs";
import { type StorageFault, StoreError } from "../../faults.ts";
import { databaseIn } from "./directory.ts";
import { codeOf, storageFaultOf } from "./faults.ts";
import { missingIn } from "./migrations.ts";

/** With less room than that, a commit of usual size no longer fits. */
const leastBytes = 256 * 1024;

/** A disk that was full has room again from here on. */
const roomBytes = 1024 * 1024;

/** Which file a directory's database is, to notice another one in its place; null where there is none. */
export function databaseIdentity(directory: string): string | null {
  const found = statSync(databaseIn(directory), { throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}

/**
 * What is wrong with the storage of a directory that this process serves, as far as that can be seen in a moment: the
 * free space, the file, and what SQLite reads first of it. null: nothing.
 *
 * @param identity of the database that was opened
 * @param wasFull whether room is asked for in which work can go on
 */
export function lookAtStorage(
  directory: string,
  identity: string | null,
  wasFull: boolean,
): StorageFault | null {
  try {
    if (databaseIdentity(directory) !== identity) return "replaced";
    const damage = damageIn(directory);
    if (damage !== null) return damage;
    return freeBytes(directory) < (wasFull ? roomBytes : leastBytes) ? "full" : null;
  } catch {
    return "failing";
  }
}

/**
 * Over a connection of its own, whose cache is empty. The file is never opened otherwise: closing it would drop
 * SQLite's locks.
 */
function damageIn(directory: string): StorageFault | null {
  let db: Database | null = null;
  try {
    db = new Database(databaseIn(directory), { readonly: true });
    db.run("PRAGMA busy_timeout = 100");
    return missingIn(db).length === 0 ? null : "damaged";
  } catch (error) {
    // A table or migration that is not there. Everything else, such as a lock that is held or a descriptor that cannot
    // be had, says nothing of the storage.
    const isMissing = error instanceof StoreError || codeOf(error) === "SQLITE_ERROR";
    return isMissing ? "damaged" : storageFaultOf(error);
  } finally {
    db?.close();
  }
}

/** What this user may still write; Infinity where the file system does not tell. */
function freeBytes(directory: string): number {
  const { bsize, blocks, bavail, bfree } = statfsSync(directory);
  if (blocks === 0) return Number.POSITIVE_INFINITY;
  // Some blocks are kept for root.
  return bsize * (process.getuid?.() === 0 ? bfree : bavail);
}
