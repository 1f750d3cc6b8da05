import { Database, SQLiteError } from "bun:sqlite";
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../faults.ts";
import { explain, lockFile, pidFile } from "./directory.ts";
import { codeOf, isDamage } from "./faults.ts";
import { becomeOwner } from "./owner.ts";

/** The lock of a data directory, held until `close`. */
export interface DirectoryLock {
  close(): void;
}

/**
 * Locks a data directory for this process, and creates it if it is missing. A process of root becomes its owner first.
 * Throws a `StoreError` when it is in use or cannot be used.
 *
 * The lock is an exclusive transaction of SQLite on a second, empty database. The kernel releases it when the process
 * ends in any way, so no stale lock remains. The file with the pid is only for error messages.
 */
export function lockDirectory(directory: string): DirectoryLock {
  const [pidPath, lockPath] = [join(directory, pidFile), join(directory, lockFile)];
  try {
    becomeOwner(directory);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    // Created with this mode, as all files of the directory.
    openPrivate(lockPath, () => {});
    const lock = new Database(lockPath, { create: false, readwrite: true });
    // Long enough for `holderOf` in another process to finish its read.
    lock.run("PRAGMA busy_timeout = 50");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    // Nothing is written: SQLite would make a journal for the first page of the empty database.
    lock.run("PRAGMA journal_mode = MEMORY");
    lock.run("BEGIN EXCLUSIVE");
    notePid(pidPath);
    return { close: () => lock.close() };
  } catch (error) {
    if (isHeld(error)) {
      const pid = readPid(pidPath);
      const owner = pid === null ? "another process" : `process ${pid}`;
      throw new StoreError(
        `The data directory ${directory} is in use by ${owner}. Stop it, name another directory with --data, or, if the command has --url, use the running server with it.`,
      );
    }
    if (isDamage(error)) {
      throw new StoreError(`${lockPath} is damaged (${codeOf(error)}). Remove it: it contains no data.`);
    }
    throw explain(error, directory);
  }
}

/** Opens a file that only this user may read, created if missing, but not where a link leads to. */
function openPrivate(path: string, use: (file: number) => void): void {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
  const file = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    fchmodSync(file, 0o600);
    use(file);
  } finally {
    closeSync(file);
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

/** Writes the pid. On a full disk the file stays empty, because it is not worth failing for. */
function notePid(path: string): void {
  try {
    openPrivate(path, (file) => {
      ftruncateSync(file);
      writeFileSync(file, `${process.pid}\n`);
    });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && /^(ENOSPC|EDQUOT)$/.test(String(error.code))))
      throw error;
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
