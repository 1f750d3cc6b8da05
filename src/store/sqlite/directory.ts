import { Database, SQLiteError } from "bun:sqlite";
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { StoreError } from "../../domain/store.ts";
import type { DirectoryLock } from "../data-storage.ts";
import { codeOf, damaged, isDamage } from "./faults.ts";

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

/** Returns the path of the file that `onair copy` fills before it becomes the database. */
export const copyingIn = (directory: string): string => join(directory, "onair.copying");

/** What `becomeOwner` changed: the user that this process was made to run as, and the directory of that user. */
let became: { readonly uid: number; readonly directory: string } | null = null;

/**
 * Makes a process of root run as the owner of a data directory, for good, before it opens a file there. Files that it
 * creates then belong to the server's user, and a link that this user placed there leads to nothing that the user could
 * not open anyway. Does nothing for other users, and where root is the owner. A missing directory has the owner of the
 * directory in which it will be created. Files that only root may open have to be open before. Throws a `StoreError`
 * when the system refuses.
 */
export function becomeOwner(directory: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = ownerOf(resolve(directory));
  if (uid === 0) return;
  try {
    // The groups of the user, without those of root.
    process.setgroups?.([gid]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    throw new StoreError(
      `${directory} belongs to user ${uid}, and root may not become that user here (${error instanceof Error ? error.message : error}). Run this as user ${uid}.`,
    );
  }
  became = { uid, directory };
}

/** Says as whom this process runs since `becomeOwner`; null if that changed nothing. */
export function ownerInForce(): string | null {
  if (became === null) return null;
  return `From the moment it opened ${became.directory}, this command ran as user ${became.uid}, who owns that directory, and not as root.`;
}

/** Where a path leads through a file, the owner of that file: opening it fails afterwards, with its own reason. */
function ownerOf(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    if (!/^(ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return ownerOf(dirname(path));
  }
}

/** Another process has locked the data directory. */
export class DirectoryInUse extends StoreError {
  override name = "DirectoryInUse";
}

/** The lock of a data directory. */
export interface DataDirectoryLock extends DirectoryLock {
  /** Closes the lock. Removes its files and the directories, if taking the lock created them and they are empty. */
  undo(): void;
}

/**
 * Locks a data directory for this process, and creates it if it is missing. A process of root becomes its owner first.
 * Throws a `StoreError` when it is in use or cannot be used.
 *
 * The lock is an exclusive transaction of SQLite on a second, empty database. The kernel releases it when the process
 * ends in any way, so no stale lock remains. The file with the pid is only for error messages.
 */
export function lockDirectory(directory: string): DataDirectoryLock {
  const [pidPath, lockPath] = [join(directory, pidFile), join(directory, lockFile)];
  try {
    becomeOwner(directory);
    const firstMade = mkdirSync(directory, { recursive: true, mode: 0o700 });
    const isLockNew = !existsSync(lockPath);
    // Created with this mode, as all files of the directory.
    const inode = openPrivate(lockPath, (file) => fstatSync(file).ino);
    const lock = new Database(lockPath, { create: false, readwrite: true });
    // Long enough for `holderOf` in another process to finish its read.
    lock.run("PRAGMA busy_timeout = 50");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    // Nothing is written: SQLite would make a journal for the first page of the empty database.
    lock.run("PRAGMA journal_mode = MEMORY");
    lock.run("BEGIN EXCLUSIVE");
    // A process that undid its lock has removed the file meanwhile. A lock on a removed file excludes no other process.
    if (statSync(lockPath, { throwIfNoEntry: false })?.ino !== inode) {
      lock.close();
      return lockDirectory(directory);
    }
    notePid(pidPath);
    return {
      close: () => lock.close(),
      undo() {
        if (isLockNew) for (const path of [pidPath, lockPath]) rmSync(path, { force: true });
        if (firstMade !== undefined) removeEmpty(directory, firstMade);
        lock.close();
      },
    };
  } catch (error) {
    if (isHeld(error)) {
      const pid = readPid(pidPath);
      const owner = pid === null ? "another process" : `process ${pid}`;
      throw new DirectoryInUse(
        `The data directory ${directory} is in use by ${owner}. Stop it, or name another directory.`,
      );
    }
    if (isDamage(error)) {
      throw new StoreError(`${lockPath} is damaged (${codeOf(error)}). Remove it: it contains no data.`);
    }
    throw explain(error, directory);
  }
}

/** Removes a directory and its parents up to `first`, as far as they are empty. */
function removeEmpty(directory: string, first: string): void {
  const end = resolve(first);
  try {
    for (let at = resolve(directory); at.length >= end.length; at = dirname(at)) rmdirSync(at);
  } catch {
    // Another process has put something there.
  }
}

/** Opens a file that only this user may read, created if missing, but not where a link leads to. */
function openPrivate<T>(path: string, use: (file: number) => T): T {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
  const file = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    fchmodSync(file, 0o600);
    return use(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Replaces the file of the pid by a new one, by whose inode the former process sees that another one has the directory.
 * On a full disk the file stays as it is, because it is not worth failing for.
 */
function notePid(path: string): void {
  const fresh = `${path}.new`;
  try {
    // Refuses a link.
    openPrivate(path, () => {});
    openPrivate(fresh, (file) => {
      ftruncateSync(file);
      writeFileSync(file, `${process.pid}\n`);
    });
    renameSync(fresh, path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && /^(ENOSPC|EDQUOT)$/.test(String(error.code))))
      throw error;
  }
}

/** Returns the process that has locked a directory (its pid may be unknown), or null when none has. Changes nothing. */
export function holderOf(directory: string): { readonly pid: number | null } | null {
  const file = join(directory, lockFile);
  if (!existsSync(file)) return null;
  let lock: Database | null = null;
  try {
    lock = new Database(file, { readonly: true });
    lock.run("PRAGMA busy_timeout = 0");
    lock.query("SELECT 1 FROM sqlite_schema").get();
    return null;
  } catch (error) {
    // Any other error is about a file that a crashed process has left, or that this user may not open.
    return isHeld(error) ? { pid: readPid(join(directory, pidFile)) } : null;
  } finally {
    lock?.close();
  }
}

function isHeld(error: unknown): boolean {
  return error instanceof SQLiteError && error.code === "SQLITE_BUSY";
}

function readPid(file: string): number | null {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || null;
  } catch {
    return null;
  }
}

/** A part of a database without the database itself: its file, what is wrong, and what to do. */
interface LostPart {
  readonly file: string;
  readonly message: string;
  readonly advice: string;
}

/**
 * Returns the part of a database that a directory without a database has, and what to do; null for none. An empty
 * database must not be created beside a part.
 */
export function partIn(directory: string): LostPart | null {
  const parts: readonly (readonly [name: RegExp, what: string, advice: string, then?: string])[] = [
    [/^onair\.copying$/, "an interrupted copy", "begin the same onair copy again"],
    [/^onair\.restoring$/, "an interrupted restore", "restore again"],
    // SQLite would apply this file to the new database. An empty one stays when the database is removed under a server.
    [
      /^onair\.db-(wal|journal)$/,
      "a database that is missing",
      "move that back",
      ` with all files that begin with ${databaseFile}, and restore a backup: onair restore`,
    ],
  ];
  for (const file of readdirSync(directory)) {
    const found = parts.find(([name]) => name.test(file));
    if (!found || (file !== `${databaseFile}-wal` && statSync(join(directory, file)).size === 0)) continue;
    const [, what, advice, then = ""] = found;
    return {
      file,
      message: `${directory} has a part of ${what}`,
      advice: `${advice}, or move ${file} away${then}`,
    };
  }
  return null;
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
