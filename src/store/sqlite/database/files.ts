import { closeSync, fsyncSync, openSync, rmSync, statSync } from "node:fs";

/** The size of the write-ahead log of a database file in bytes; 0 without a log. */
export function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** Removes a database file, if it exists, with the files that SQLite keeps beside it. */
export function removeDatabase(file: string): void {
  for (const path of [file, `${file}-journal`]) rmSync(path, { force: true });
  removeLog(file);
}

/** Removes the write-ahead log of a database file and the log's index. */
export function removeLog(file: string): void {
  for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
}

/** Syncs a file, or the entries of a directory. */
export function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
