import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../faults.ts";
import { explain, lockFile, pidFile } from "./directory.ts";
import { codeOf, isDamage } from "./faults.ts";
import { giveToOwner } from "./ownership.ts";

/** The lock of a data directory, held until `close`. */
export interface DirectoryLock {
  close(): void;
}

/**
 * Locks a data directory for this process, and creates it if it is missing. Throws a `StoreError` when it is in use or
 * cannot be used.
 *
 * The lock is an exclusive transaction of SQLite on a second, empty database. The kernel releases it when the process
 * ends in any way, so no stale lock remains. The file with the pid is only for error messages. Closing the lock gives
 * the files that root created to the owner of the directory.
 */
export function lockDirectory(directory: string): DirectoryLock {
  const [pidPath, lockPath] = [join(directory, pidFile), join(directory, lockFile)];
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    // Created with this mode, as all files of the directory.
    closeSync(openSync(lockPath, "a", 0o600));
    const lock = new Database(lockPath, { create: false, readwrite: true });
    // Long enough for `holderOf` in another process to finish its read.
    lock.run("PRAGMA busy_timeout = 50");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    // Nothing is written: SQLite would make a journal for the first page of the empty database.
    lock.run("PRAGMA journal_mode = MEMORY");
    lock.run("BEGIN EXCLUSIVE");
    notePid(pidPath);
    return {
      close() {
        try {
          giveToOwner(directory);
        } finally {
          lock.close();
        }
      },
    };
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

/** Returns the process that has locked a directory (its pid may be unknown), or null when none has. Changes nothing. */
export function holderOf(directory: string): { readonly pid: number | null } | null {
  const file = join(directory, lockFile);
  if (!existsSync(file)) return null;
  const lock = new Database(file, { readonly: true });
  try {
    lock.run("PRAGMA busy_timeout = 0");
    lock.query("SELECT 1 FROM sqlite_schema").get();
    return null;
  } catch (error) {
    // Any other error is about a file that a crashed process has left, which does not keep others from locking it.
    return isHeld(error) ? { pid: readPid(join(directory, pidFile)) } : null;
  } finally {
    lock.close();
  }
}

/** Writes the pid. On a full disk the file stays empty, because it is not worth failing for. */
function notePid(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`, { mode: 0o600 });
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
