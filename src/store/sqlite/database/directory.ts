import { accessSync, constants, lstatSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { StoreError } from "../../faults.ts";
import { damaged, isDamage } from "./faults.ts";

/** The name of the database in its directory. */
export const databaseFile = "onair.db";
/** The names of the lock, and of the file with the pid of its owner, which error messages show. */
export const lockFile = "onair.lock";
export const pidFile = "onair.pid";

/** Returns the path of the database in a data directory. */
export const databaseIn = (directory: string): string => join(directory, databaseFile);

/** Returns the path that a backup is restored to, before it replaces the database. */
export const restoringIn = (directory: string): string => join(directory, "onair.restoring");

/** Returns the path of the file for events that could not be stored; see `WriterConflict`. */
export const setAsideIn = (directory: string): string => join(directory, "onair.set-aside.ndjson");

/** The file that `onair copy` fills is named by this prefix and the id of the copy. */
export const copyingName = "onair.copying-";

/**
 * Throws a `StoreError` when a directory without a database has parts of one. An empty database must not be created
 * there.
 */
export function requireNoParts(directory: string): void {
  const parts: readonly (readonly [RegExp, string])[] = [
    [new RegExp(`^${copyingName}[^-]+$`), "an interrupted copy: continue it with the same onair copy"],
    [/^onair\.restoring$/, "an interrupted restore: restore again"],
    // SQLite would apply this file to the new database. An empty one stays when the database is removed under a server.
    [/^onair\.db-(wal|journal)$/, "a database that is missing: move that back"],
  ];
  for (const file of readdirSync(directory)) {
    const what = parts.find(([name]) => name.test(file))?.[1];
    if (what === undefined || (file !== `${databaseFile}-wal` && statSync(join(directory, file)).size === 0))
      continue;
    throw new StoreError(`${directory} has a part of ${what}, or move ${file} away.`, true);
  }
}

/**
 * Converts an error of SQLite or the system about a data directory to a `StoreError`. Returns any other error
 * unchanged.
 */
export function explain(error: unknown, directory: string): unknown {
  if (error instanceof StoreError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (isDamage(error)) return damaged(databaseIn(directory), code, error);
  if (/^(ENOTDIR|EEXIST)/.test(code)) {
    return new StoreError(`${directory} is not a directory. Name another one with --data.`);
  }
  if (!/^(E[A-Z]+|SQLITE_(CANTOPEN|READONLY|FULL|IOERR).*)$/.test(code)) return error;
  if (code === "EROFS")
    return new StoreError(
      `The file system of the data directory ${directory} is mounted read-only. The kernel log may say why; mount it writable.`,
    );
  const wrong = wrongFileIn(directory);
  if (wrong !== null) return new StoreError(`${wrong} (${code}).`);
  if (/^(ENOSPC|EDQUOT|SQLITE_FULL)/.test(code)) {
    return new StoreError(
      `The disk of the data directory ${directory} is full (${code}). What was stored before is intact: free some space there, then repeat this.`,
    );
  }
  if (/^(EIO|SQLITE_IOERR)/.test(code)) {
    return new StoreError(
      `The disk of the data directory ${directory} is full or failing (${code}). Free some space there, or look for errors of the disk in the kernel log, then repeat this.`,
    );
  }
  return new StoreError(
    `The data directory ${directory} is not writable (${code}). Give this user the right to write there, or name another directory with --data.`,
  );
}

/**
 * Returns what is wrong with a file in the directory, and what to do; null when no problem is visible without opening
 * it.
 */
export function wrongFileIn(directory: string): string | null {
  const names = [lockFile, pidFile, ...["", "-wal", "-shm"].map((suffix) => databaseFile + suffix)];
  for (const file of names.map((name) => join(directory, name))) {
    if (!existsWithoutFollowing(file)) continue;
    // Only the database may be elsewhere.
    const isOwn = [lockFile, pidFile].includes(basename(file));
    if (!(isOwn ? lstatSync : statSync)(file, { throwIfNoEntry: false })?.isFile())
      return `${file} is not a file. Move it away, or name another directory with --data`;
    if (!isUsable(file)) return `${file} may not be read and written. Give this user the right to do that`;
  }
  return null;
}

/** Whether the path exists, even as a dangling link. */
function existsWithoutFollowing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // the directory itself cannot be searched
  }
}

function isUsable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
