import { renameSync } from "node:fs";
import { dirname } from "node:path";
import { checkDatabase } from "../../store/sqlite/backup.ts";
import { removeDatabase } from "../../store/sqlite/directory.ts";
import { settleDatabase } from "../../store/sqlite/open.ts";
import { type Content, syncDirectory, writePrivately } from "./files.ts";

/**
 * Copies the closed database of a directory into a file. It keeps the schema of the version that wrote it, so that
 * "onair restore" of that version accepts it. Requires the directory's lock. The file appears complete or not at all.
 * Throws a `StoreError` for a damaged database.
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
    removeDatabase(partial);
  }
}
