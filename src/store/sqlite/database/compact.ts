import { closeSync, openSync, renameSync, statfsSync, statSync } from "node:fs";
import { StoreError } from "../../faults.ts";
import { checkDatabase, copyDatabase, databaseSize } from "./backup.ts";
import { compactingIn, explain } from "./directory.ts";
import { removeDatabase, removeLog, sync } from "./files.ts";
import { settleDatabase } from "./open.ts";

/** The size of a database before and after compacting. */
interface Compacted {
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** Free space that must remain on the disk beside the copy. */
const spareBytes = 16 * 1024 * 1024;

/**
 * Replaces the database of a directory by a copy without free pages, which returns free pages to the file system from
 * then on. The copy is checked and synced, then renamed: if this is interrupted, either the old or the new database is
 * there. The caller holds the lock of the directory. Throws `StoreError`.
 */
export function compactDatabase(directory: string): Compacted {
  const copy = compactingIn(directory);
  try {
    removeDatabase(copy);
    const file = settleDatabase(directory);
    const beforeBytes = statSync(file).size;
    requireFreeSpace(directory);
    // Created with this mode, so that it is never readable by other users.
    closeSync(openSync(copy, "wx", 0o600));
    copyDatabase(directory, copy, { givesBack: true });
    checkDatabase(copy, { thorough: false });
    sync(copy);
    // Reading has created these files again, empty.
    removeLog(file);
    renameSync(copy, file);
    sync(directory);
    return { beforeBytes, afterBytes: statSync(file).size };
  } catch (error) {
    removeDatabase(copy);
    throw explain(error, directory);
  }
}

function requireFreeSpace(directory: string): void {
  const { bsize, bavail } = statfsSync(directory);
  const needed = databaseSize(directory) + spareBytes;
  const free = bsize * bavail;
  if (free >= needed) return;
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;
  throw new StoreError(
    `There is not enough free space for a copy in ${directory}: it needs ${megabytes(needed)}, and ${megabytes(free)} are free. Nothing was changed. Free some space, or move old backups away.`,
  );
}
