import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { StoreError } from "../store/faults.ts";
import { checkDatabase } from "../store/sqlite/database/backup.ts";
import { databaseFile } from "../store/sqlite/database/directory.ts";
import { lockDirectory } from "../store/sqlite/database/lock.ts";
import { readName } from "./files.ts";
import { type Content, syncDirectory, writePrivately } from "./private-file.ts";

interface Restoring {
  /** A backup or a closed database. It is not changed. */
  readonly file: string;
  /** A data directory without a database; created when missing. */
  readonly data: string;
  readonly wrote: (bytes: number) => void;
  /** Called when the copy is complete and its check begins. */
  readonly checking: () => void;
}

/**
 * Restores a backup into a data directory that no other process uses. The copy is checked before it becomes the
 * database. Throws a `StoreError` with the reason; then it removes the copy.
 */
export async function restoreBackup({ file, data, wrote, checking }: Restoring): Promise<Content> {
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    throw new StoreError(
      `${file} is a database that was not closed, not a backup: a part of it is in ${basename(file)}-wal. Make a backup of it with onair backup.`,
    );
  }
  const lock = lockDirectory(data);
  const partial = join(data, "onair.restoring");
  try {
    const held = readdirSync(data).find((name) => name.startsWith(databaseFile));
    if (held !== undefined) {
      throw new StoreError(
        `${data} holds a database already (${held}). Move it away first, or name another directory with --data.`,
      );
    }
    const content = await writePrivately(partial, Bun.file(file).stream(), wrote);
    checking();
    check(file, partial, content);
    renameSync(partial, join(data, databaseFile));
    syncDirectory(data);
    return content;
  } finally {
    for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(partial + suffix, { force: true });
    lock.close();
  }
}

function check(file: string, copy: string, { sha256 }: Content): void {
  const named = readName(file);
  if (named !== null && named.sha256 !== sha256)
    throw new StoreError(`${file} is not what was made: its name has another SHA-256.`);
  try {
    checkDatabase(copy, { thorough: true });
  } catch (error) {
    throw error instanceof StoreError ? new StoreError(`${file}: ${error.message}`) : error;
  }
}
