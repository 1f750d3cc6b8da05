import fs from "node:fs";
import { dirname, join } from "node:path";
import { backupLimits, noRoom } from "../domain/backups.ts";
import { databaseFile } from "../store/sqlite/database/directory.ts";
import { isMissing } from "./files.ts";
import { type NewBackup, placeDirectory, workDirectory } from "./place.ts";

/** Throws `unavailable` where a backup has no room, on each file system that it is written to. */
export async function requireRoom(backup: NewBackup): Promise<void> {
  const file = join(backup.data, databaseFile);
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
    if (bavail * bsize < neededBytes) throw noRoom({ neededBytes, freeBytes: bavail * bsize });
  }
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
