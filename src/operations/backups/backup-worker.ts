import { closeSync, fsyncSync, futimesSync, mkdirSync, openSync, readSync, rmSync } from "node:fs";
import { setPriority } from "node:os";
import { dirname } from "node:path";
import { type NoCalls, runThread, type ThreadContract } from "../../runtime/threads.ts";
import { checkDatabase, copyDatabase, type DatabaseCounts, databaseSize } from "../../store/sqlite/backup.ts";
import { type CheckedFile, destinationDirectory, type NewBackup, workDirectory } from "./destination.ts";
import { makePartial, nameOf, partialPath } from "./files.ts";
import { explainedUse, openDestination } from "./open-destination.ts";

/*
 * The thread that makes one backup.
 */

// On Linux this applies only to the calling thread: the server's threads have priority.
if (process.platform === "linux") setPriority(0, 19);

/** The contract of the thread. */
export interface BackupThread extends ThreadContract {
  readonly start: NewBackup;
  readonly offers: { size(): number; make(): Promise<DatabaseCounts> };
  readonly calls: NoCalls;
}

runThread<BackupThread>(async ({ start }) => ({
  size: () => databaseSize(start.data),
  make: () => makeBackup(start),
}));

const chunkBytes = 1024 * 1024;

/**
 * Makes a backup: writes it under a temporary name, checks it, encrypts it if configured, syncs it, then stores it in
 * its destination. Blocks its thread for long. Throws `unavailable` when there is no space or the destination refuses
 * it, and `StoreError` when the database is damaged. After an error no file of the backup remains.
 */
export async function makeBackup(backup: NewBackup): Promise<DatabaseCounts> {
  const { data, id, recipients } = backup;
  const directory = workDirectory(backup);
  const plain = partialPath(directory, id);
  const encrypted = `${partialPath(destinationDirectory(backup), id)}.age`;
  const isEncrypted = recipients.length > 0;
  try {
    makePartial(directory, id);
    copyDatabase(data, plain);
    const counts = checkDatabase(plain, { thorough: false });
    if (isEncrypted) {
      const { encryptFile } = await import("./encryption.ts");
      mkdirSync(dirname(encrypted), { recursive: true, mode: 0o700 });
      await encryptFile(plain, encrypted, recipients);
      rmSync(plain);
    }
    const file = checkedFile(isEncrypted ? encrypted : plain);
    const destination = await openDestination(backup.destination);
    await destination.keep(file, nameOf(id, file.sha256, isEncrypted));
    return counts;
  } catch (error) {
    throw explainedUse(error, directory);
  } finally {
    for (const path of [plain, `${plain}-journal`, encrypted]) {
      try {
        rmSync(path, { force: true });
      } catch {
        // What came of the backup counts. The server removes the files of a failed one, and its next start the others.
      }
    }
  }
}

/** Reads a file for its hash, sets its time to now, and syncs it. */
function checkedFile(path: string): CheckedFile {
  const hasher = new Bun.CryptoHasher("sha256");
  const chunk = Buffer.allocUnsafe(chunkBytes);
  const fd = openSync(path, "r+");
  let size = 0;
  try {
    for (let read = 1; read > 0; size += read) {
      read = readSync(fd, chunk, 0, chunk.length, null);
      hasher.update(chunk.subarray(0, read));
    }
    futimesSync(fd, new Date(), new Date());
    fsyncSync(fd);
    return { path, size, sha256: hasher.digest("hex") };
  } finally {
    closeSync(fd);
  }
}
