import fs from "node:fs";
import { backupLimits, type TooSmall } from "../../domain/backups.ts";
import { databaseIn } from "../../store/sqlite/directory.ts";
import { destinationDirectory, type NewBackup, workDirectory } from "./destination.ts";
import { existing } from "./directory-destination.ts";

/** The backup to be made. */
type PlannedBackup = Pick<NewBackup, "data" | "destination" | "recipients">;

/**
 * Returns the first file system with too little space for a backup that will be written to it; null when all have
 * enough.
 */
export async function tooSmallFor(backup: PlannedBackup): Promise<TooSmall | null> {
  const file = databaseIn(backup.data);
  // By name: opening and closing the file here would release SQLite's POSIX locks on it, which belong to the process.
  const sizes = await Promise.all(
    [file, `${file}-wal`].map((path) => fs.promises.stat(path).catch(() => ({ size: 0 }))),
  );
  const bytes = sizes.reduce((sum, { size }) => sum + size, 0);
  const directories = [workDirectory(backup)];
  if (backup.recipients.length > 0) directories.push(destinationDirectory(backup));
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
