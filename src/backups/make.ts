import { closeSync, fsyncSync, futimesSync, openSync, readSync, rmSync } from "node:fs";
import { noRoom } from "../domain/backups.ts";
import { checkDatabase, copyDatabase } from "../store/sqlite/database/backup.ts";
import { keepPartial, makePartial, partialPath } from "./files.ts";

export interface NewBackup {
  /** A data directory that this process has open. */
  readonly data: string;
  readonly id: string;
}

const chunkBytes = 1024 * 1024;

/**
 * Makes a backup in `backups/` of the data directory: written under a temporary name, checked, synced, then renamed.
 * Blocks its thread for long. Throws `unavailable` when there is no space, `StoreError` when the database is damaged;
 * then it removes the file.
 */
export function makeBackup({ data, id }: NewBackup): void {
  const path = partialPath(data, id);
  try {
    makePartial(data, id);
    copyDatabase(data, path);
    checkDatabase(path, { thorough: false });
    keepPartial(data, id, syncedHash(path));
  } catch (error) {
    for (const suffix of ["", "-journal"]) rmSync(path + suffix, { force: true });
    throw isFull(error) ? noRoom() : error;
  }
}

/** Syncs a file, sets its time to now, and returns its hash. */
function syncedHash(path: string): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const chunk = Buffer.allocUnsafe(chunkBytes);
  const fd = openSync(path, "r+");
  try {
    for (let size = 1; size > 0; ) {
      size = readSync(fd, chunk, 0, chunk.length, null);
      hasher.update(chunk.subarray(0, size));
    }
    futimesSync(fd, new Date(), new Date());
    fsyncSync(fd);
    return hasher.digest("hex");
  } finally {
    closeSync(fd);
  }
}

/** Whether the error means a full file system or an exhausted quota. */
function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^(ENOSPC|EDQUOT)$/.test(String(error.code));
}
