import fs, { constants } from "node:fs";
import { dirname } from "node:path";
import { noSpaceForBackup } from "../domain/backups.ts";
import { DomainError } from "../domain/errors.ts";
import { databaseIn } from "../store/sqlite/database/directory.ts";
import { destinationDirectory, type NewBackup, workDirectory } from "./destination.ts";
import { isMissing } from "./files.ts";

/**
 * Throws `unavailable` with advice when a backup could not read the database or write to its directories. Without the
 * database nothing may be written: that would create a data directory again that was moved away.
 */
export async function requireUsable(backup: NewBackup): Promise<void> {
  const file = databaseIn(backup.data);
  await fs.promises.access(file, constants.R_OK).catch((error) => {
    throw new DomainError(
      "unavailable",
      `The database ${file} cannot be read (${codeOf(error)}), so there is no backup of it. Put its directory and its rights back as they were when the server started, and restart the server.`,
    );
  });
  for (const directory of new Set([workDirectory(backup), destinationDirectory(backup)])) {
    try {
      const { at } = await existing(directory);
      // With the dot, a file in place of the directory is refused as well.
      await fs.promises.access(`${at}/.`, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      throw explainedUse(error, directory);
    }
  }
}

/** Returns the error of a system call on a directory of backups, with what to do; any other error unchanged. */
export function explainedUse(error: unknown, directory: string): unknown {
  const code = codeOf(error);
  if (/^(ENOSPC|EDQUOT)$/.test(code)) return noSpaceForBackup();
  if (!/^(E[A-Z]+|SQLITE_(CANTOPEN|IOERR|READONLY).*)$/.test(code)) return error;
  return new DomainError(
    "unavailable",
    `The directory of the backups, ${directory}, cannot be used (${code}). ${adviceFor(code)}`,
  );
}

function adviceFor(code: string): string {
  if (/^(EACCES|EPERM|EROFS|ENOTDIR)$/.test(code))
    return "Give the user of the server the right to create, read and write it; under systemd, ReadWritePaths= must name it.";
  if (/^(EMFILE|ENFILE)$/.test(code))
    return "There are too many open files and connections: raise the limit (ulimit -n; LimitNOFILE= of systemd).";
  return "Check that it is there, and its disk.";
}

/** The directory, or its nearest existing ancestor, in which it will be created. */
export async function existing(directory: string): Promise<{ readonly at: string; readonly dev: number }> {
  try {
    return { at: directory, dev: (await fs.promises.stat(directory)).dev };
  } catch (error) {
    if (!isMissing(error) || dirname(directory) === directory) throw error;
    return existing(dirname(directory));
  }
}

const codeOf = (error: unknown) => String((error as { code?: unknown }).code ?? "");
