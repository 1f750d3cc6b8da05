import { accessSync, constants, lstatSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../faults.ts";
import { damaged, isDamage } from "./faults.ts";

/** The name of the database in its directory. */
export const databaseFile = "onair.db";
/** Of the lock, and of the pid of its owner, for the message of a process that finds it locked. */
export const lockFile = "onair.lock";
export const pidFile = "onair.pid";

/** The file of the database in a data directory. */
export const databaseIn = (directory: string): string => join(directory, databaseFile);

/** Where a database is copied to by `compactDatabase`. */
export const compactingIn = (directory: string): string => join(directory, "onair.compacting");

/** Where a backup is restored to. */
export const restoringIn = (directory: string): string => join(directory, "onair.restoring");

/** The start of the name of a file that `onair copy` fills, before the id of the copy. */
export const copyingName = "onair.copying-";

/** Throws a `StoreError` where a directory without a database has a part of one, beside which an empty one must not begin. */
export function requireNoParts(directory: string): void {
  const parts: readonly (readonly [RegExp, string])[] = [
    [new RegExp(`^${copyingName}[^-]+$`), "a copy that was cut off: the same onair copy goes on"],
    [/^onair\.restoring$/, "a restore that was cut off: do it again"],
    // It would become a part of the new one.
    [/^onair\.db-(wal|journal)$/, "a database that is not there: move that back"],
  ];
  for (const file of readdirSync(directory)) {
    const what = parts.find(([name]) => name.test(file))?.[1];
    if (what === undefined || statSync(join(directory, file)).size === 0) continue;
    throw new StoreError(`${directory} has a part of ${what}, or move ${file} away.`, true);
  }
}

/** Removes what a compacting that was cut off has left. */
export function removePartialCopy(directory: string): void {
  for (const suffix of ["", "-journal", "-wal", "-shm"])
    rmSync(compactingIn(directory) + suffix, { force: true });
}

/** What SQLite or the system says of a data directory, for people: a `StoreError`, or else the error itself. */
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
      `The file system of the data directory ${directory} is mounted read-only. The log of the kernel may say why; mount it to be written.`,
    );
  const wrong = wrongFileIn(directory);
  if (wrong !== null) return new StoreError(`${wrong} (${code}).`);
  if (/^(ENOSPC|EDQUOT|EIO|SQLITE_FULL|SQLITE_IOERR)/.test(code)) {
    return new StoreError(`The disk of the data directory ${directory} is full, or fails (${code}).`);
  }
  return new StoreError(
    `The data directory ${directory} is not writable (${code}). Give this user the right to write there, or name another directory with --data.`,
  );
}

/** What is wrong with one of the files there, and what to do, where that can be seen without opening it. */
export function wrongFileIn(directory: string): string | null {
  const names = [lockFile, pidFile, ...["", "-wal", "-shm"].map((suffix) => databaseFile + suffix)];
  for (const file of names.map((name) => join(directory, name))) {
    if (!existsWithoutFollowing(file)) continue;
    if (!statSync(file, { throwIfNoEntry: false })?.isFile())
      return `${file} is not a file. Move it away, or name another directory with --data`;
    if (!isUsable(file)) return `${file} may not be read and written. Give this user the right to do that`;
  }
  return null;
}

/** Whether there is something of that name, be it a link that leads nowhere. */
function existsWithoutFollowing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // not even its directory may be looked into
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
