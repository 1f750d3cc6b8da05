import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { checkDatabase } from "../store/sqlite/database/backup.ts";
import { settleDatabase } from "../store/sqlite/database/open.ts";
import { type Content, syncDirectory, writePrivately } from "./private-file.ts";

/**
 * Copies the database of a directory into a file as it is, in the form of the version that wrote it, which is what
 * "onair restore" of that version takes. To be called with the directory's lock, while nobody has the database open. The
 * file is there as a whole or not at all. Throws a `StoreError` where the database is damaged.
 */
export async function backupBeforeUpgrade(
  directory: string,
  file: string,
  wrote: (bytes: number) => void,
): Promise<Content> {
  const partial = `${file}.partial`;
  try {
    const content = await writePrivately(partial, Bun.file(settleDatabase(directory)).stream(), wrote);
    checkDatabase(partial, { thorough: false });
    renameSync(partial, file);
    syncDirectory(dirname(file));
    return content;
  } finally {
    for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(partial + suffix, { force: true });
  }
}
