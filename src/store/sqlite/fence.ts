import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { join } from "node:path";
import { lockFile, pidFile } from "./directory.ts";
import { TakenDirectory } from "./faults.ts";

/*
 * The lock of a data directory keeps a second writer out, unless its file is removed, or locks do not reach the other
 * host. Two writers would give the same numbers to different events, and overwrite each other's
 * staged ones. So each transaction of a writer begins with the question whether it is still the only one.
 */

/** The largest `user_version` of SQLite. */
const largestNumber = 2 ** 31 - 1;

/**
 * Makes this connection the writer of a database, which ends the right of any other: the writer's number is the
 * `user_version` in the header of the database, and each writer takes the next one. Call it within a transaction,
 * before reading what later work relies on. Returns a function that throws `TakenDirectory` when another connection
 * has become the writer. That function is exact within a transaction that holds the write lock, because every commit
 * of another connection on this host changes `data_version`.
 */
export function becomeWriter(db: Database): () => void {
  const writer = db.prepare<{ user_version: number }, []>("PRAGMA user_version");
  const me = ((writer.get()?.user_version ?? 0) % largestNumber) + 1;
  db.run(`PRAGMA user_version = ${me}`);
  const versionOf = db.prepare<{ data_version: number }, []>("PRAGMA data_version");
  let seen: number | undefined;
  return () => {
    const version = versionOf.get()?.data_version;
    if (version === seen) return;
    // A checkpoint, Litestream or an operator's shell changes the version as well.
    if (writer.get()?.user_version !== me) throw new TakenDirectory();
    seen = version;
  };
}

/**
 * Returns a function that tells whether another process has locked a directory that this process has locked. A removed
 * file of the lock alone is not a sign of that.
 */
export function takenSince(directory: string): () => boolean {
  const [lock, pid] = [join(directory, lockFile), join(directory, pidFile)];
  // The file with the pid is written by each process that gets the lock, also by one on another host.
  const look = () => [identityOf(lock, false), identityOf(pid, true)];
  const before = look();
  return () => look().some((now, i) => now !== null && now !== before[i]);
}

/** Returns null for a file that does not exist or cannot be examined. */
function identityOf(file: string, withTime: boolean): string | null {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}:${withTime ? found.mtimeMs : 0}` : null;
  } catch {
    return null;
  }
}
