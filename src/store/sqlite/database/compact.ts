import { closeSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { StoreError } from "../../faults.ts";
import { checkDatabase, copyDatabase, databaseSize } from "./backup.ts";
import { compactingIn, explain, removePartialCopy } from "./directory.ts";
import { settleDatabase } from "./open.ts";

/** What compacting a database has changed, in bytes. */
interface Compacted {
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** Free space that a copy leaves on the disk. */
const spareBytes = 16 * 1024 * 1024;

/**
 * Makes the database of a directory anew, without free pages, and such that it gives free pages back from then on. The copy
 * takes its place in one step, when it is whole and on the disk: whenever this is cut off, the one or the other is there. The
 * caller has the lock of the directory. Throws `StoreError`.
 */
export function compactDatabase(directory: string): Compacted {
  const copy = compactingIn(directory);
  try {
    removePartialCopy(directory);
    const file = settleDatabase(directory);
    const beforeBytes = statSync(file).size;
    requireRoom(directory);
    // For its owner alone from the beginning.
    closeSync(openSync(copy, "wx", 0o600));
    copyDatabase(directory, copy, { givesBack: true });
    checkDatabase(copy, { thorough: false });
    sync(copy);
    // Reading has made them anew, empty.
    for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
    renameSync(copy, file);
    sync(directory);
    return { beforeBytes, afterBytes: statSync(file).size };
  } catch (error) {
    removePartialCopy(directory);
    throw explain(error, directory);
  }
}

function requireRoom(directory: string): void {
  const { bsize, bavail } = statfsSync(directory);
  const needed = databaseSize(directory) + spareBytes;
  const free = bsize * bavail;
  if (free >= needed) return;
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;
  throw new StoreError(
    `There is no room for a copy in ${directory}: it takes ${megabytes(needed)}, and ${megabytes(free)} are free. Nothing was changed. Make room, or move old backups away.`,
  );
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
