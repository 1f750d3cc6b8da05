import fs from "node:fs";
import { dirname } from "node:path";
import { backupLimits, type TooSmall } from "../domain/backups.ts";
import { databaseIn } from "../store/sqlite/database/directory.ts";
import { isMissing } from "./files.ts";
import { type NewBackup, placeDirectory, workDirectory } from "./place.ts";

/** Of a backup that is to be made. */
type RoomQuestion = Pick<NewBackup, "data" | "place" | "recipients">;

/** The first of the file systems that a backup is written to on which it has no room; null where it has. */
export async function tooSmallFor(backup: RoomQuestion): Promise<TooSmall | null> {
  const file = databaseIn(backup.data);
  // By name: opening and closing the file here would release SQLite's POSIX locks on it, which belong to the process.
  const sizes = await Promise.all(
    [file, `${file}-wal`].map((path) => fs.promises.stat(path).catch(() => ({ size: 0 }))),
  );
  const bytes = sizes.reduce((sum, { size }) => sum + size, 0);
  const directories = [workDirectory(backup)];
  if (backup.recipients.length > 0) directories.push(placeDirectory(backup));
  /** By the number of the file system. */
  const needed = new Map<number, { readonly at: string; readonly bytes: number }>();
  for (const directory of directories) {
    const { at, dev } = await existing(directory);
    needed.set(dev, { at, bytes: bytes + (needed.get(dev)?.bytes ?? backupLimits.spareBytes) });
  }
  for (const { at, bytes: neededBytes } of needed.values()) {
    const { bavail, bsize } = await fs.promises.statfs(at);
    if (bavail * bsize < neededBytes) return { directory: at, neededBytes, freeBytes: bavail * bsize };
  }
  return null;
}

/** A directory, or where it is missing the one in which it will be made. */
async function existing(directory: string): Promise<{ readonly at: string; readonly dev: number }> {
  try {
    return { at: directory, dev: (await fs.promises.stat(directory)).dev };
  } catch (error) {
    if (!isMissing(error) || dirname(directory) === directory) throw error;
    return existing(dirname(directory));
  }
}
