import { Database, SQLiteError } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../faults.ts";
import { explain, lockFile, pidFile } from "./directory.ts";
import { codeOf, isDamage } from "./faults.ts";

/** What keeps other servers out of a data directory. */
export interface DirectoryLock {
  close(): void;
}

/**
 * Takes a data directory for this process alone, until `close`; it is made where missing. Throws `StoreError` where it
 * is in use or cannot be used.
 *
 * The lock is SQLite's own on a second, empty database: the kernel lets go of it when the process ends, however
 * it ends, so that no stale lock is ever left behind. The file with the pid only serves the message.
 */
export function lockDirectory(directory: string): DirectoryLock {
  const [pidPath, lockPath] = [join(directory, pidFile), join(directory, lockFile)];
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    // For their owner alone from the very beginning, as everything in the directory; and where an older version made it.
    closeSync(openSync(lockPath, "a", 0o600));
    chmodSync(lockPath, 0o600);
    const lock = new Database(lockPath, { create: false, readwrite: true });
    // As long as `holderOf` may take to look.
    lock.run("PRAGMA busy_timeout = 50");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("BEGIN EXCLUSIVE");
    writeFileSync(pidPath, `${process.pid}\n`, { mode: 0o600 });
    return lock;
  } catch (error) {
    if (isHeld(error)) {
      const pid = readPid(pidPath);
      const owner = pid === null ? "another process" : `process ${pid}`;
      throw new StoreError(
        `The data directory ${directory} is in use by ${owner}. Stop it, name another directory with --data, or, where the command has --url, go through it.`,
      );
    }
    if (isDamage(error)) {
      throw new StoreError(`${lockPath} is damaged (${codeOf(error)}). Remove it: it holds nothing.`);
    }
    throw explain(error, directory);
  }
}

/** The process that has a directory for itself, whose pid may be unknown; null where there is none. Changes nothing. */
export function holderOf(directory: string): { readonly pid: number | null } | null {
  const file = join(directory, lockFile);
  if (!existsSync(file)) return null;
  const lock = new Database(file, { readonly: true });
  try {
    lock.run("PRAGMA busy_timeout = 0");
    lock.query("SELECT 1 FROM sqlite_schema").get();
    return null;
  } catch (error) {
    // Any other error is of a lock whose owner has crashed, which the next one takes over.
    return isHeld(error) ? { pid: readPid(join(directory, pidFile)) } : null;
  } finally {
    lock.close();
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
