import fs, { constants } from "node:fs";
import { basename, dirname, join } from "node:path";
import { backupLimits, noSpaceForBackup, type TooSmall } from "../../domain/backups.ts";
import { DomainError } from "../../domain/errors.ts";
import { saveBeforeStop } from "../../domain/store.ts";
import { fileStream } from "../../runtime/files.ts";
import { databaseIn } from "../../store/sqlite/directory.ts";
import {
  type BackupDestination,
  type CheckedFile,
  type DestinationSettings,
  destinationDirectory,
  type NewBackup,
  ownerFile,
  ownerIn,
  workDirectory,
} from "./destination.ts";
import { isMissing, keepPartial, wholeBackups } from "./files.ts";

/**
 * Throws `unavailable` with advice when a backup could not read the database or write to its directories. Nothing may
 * be written without the database, because that would create a data directory again that was moved away.
 */
export async function requireUsable(backup: NewBackup): Promise<void> {
  const file = databaseIn(backup.data);
  await fs.promises.access(file, constants.R_OK).catch((error) => {
    const code = faultCode(error);
    const save = code === "ENOENT" ? ` ${saveBeforeStop}.` : "";
    throw new DomainError(
      "unavailable",
      `The database ${file} cannot be read (${code}), so there is no backup of it. Put its directory and its rights back as they were when the server started, and restart the server.${save}`,
    );
  });
  for (const directory of new Set([workDirectory(backup), destinationDirectory(backup)])) {
    try {
      const { at } = await existing(directory);
      // With the dot, a file in place of the directory is refused as well.
      await fs.promises.access(`${at}/.`, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      throw explainedUse(error, directory);
    }
  }
}

/** Adds advice to the error of a system call on a directory of backups. Returns any other error unchanged. */
export function explainedUse(error: unknown, directory: string): unknown {
  const code = faultCode(error);
  if (/^(ENOSPC|EDQUOT)$/.test(code)) return noSpaceForBackup();
  if (!/^(E[A-Z]+|SQLITE_(CANTOPEN|IOERR|READONLY).*)$/.test(code)) return error;
  return new DomainError(
    "unavailable",
    `The directory of the backups, ${directory}, cannot be used (${code}). ${adviceFor(code)}`,
  );
}

/** The error when a directory of backups does not respond in time, such as a mounted one whose server is away. */
export const silentDirectory = (directory: string): DomainError =>
  new DomainError(
    "unavailable",
    `The directory of the backups, ${directory}, does not respond. ${adviceFor("")}`,
  );

function adviceFor(code: string): string {
  if (/^(EACCES|EPERM|EROFS|ENOTDIR)$/.test(code))
    return "Give the user of the server the right to create, read and write it; under systemd, ReadWritePaths= must name it.";
  if (/^(EMFILE|ENFILE)$/.test(code))
    return "There are too many open files and connections: raise the limit (ulimit -n; LimitNOFILE= of systemd).";
  return "Check that it is there, and its disk.";
}

/** The directory, or its nearest existing ancestor, in which the directory will be created. */
async function existing(directory: string): Promise<{ readonly at: string; readonly dev: number }> {
  try {
    return { at: directory, dev: (await fs.promises.stat(directory)).dev };
  } catch (error) {
    if (!isMissing(error) || dirname(directory) === directory) throw error;
    return existing(dirname(directory));
  }
}

const faultCode = (error: unknown) => String((error as { code?: unknown }).code ?? "");

/** Opens a destination. The code for S3 is loaded on demand. */
export async function openDestination(destination: DestinationSettings): Promise<BackupDestination> {
  if (destination.kind === "directory") return new DirectoryDestination(destination.directory);
  const { S3Destination } = await import("./s3-destination.ts");
  return new S3Destination(destination);
}

/** A directory as the destination of backups. */
class DirectoryDestination implements BackupDestination {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async list() {
    return this.#allowed(async () => wholeBackups(this.#directory));
  }

  /** The file must already be in this directory, synced and verified. */
  async keep({ path }: CheckedFile, name: string): Promise<void> {
    await this.#allowed(async () => keepPartial(this.#directory, basename(path), name));
  }

  read(name: string, range: { readonly start: number; readonly end: number }) {
    return fileStream(join(this.#directory, name), range);
  }

  async remove(name: string): Promise<void> {
    await this.#allowed(() => fs.promises.rm(join(this.#directory, name), { force: true }));
  }

  owner(): Promise<string | null> {
    return this.#allowed(async () => ownerIn(await textOf(join(this.#directory, ownerFile))));
  }

  claim(id: string): Promise<string> {
    return this.#allowed(() => this.#claim(id));
  }

  async #claim(id: string): Promise<string> {
    const file = join(this.#directory, ownerFile);
    // The name contains the id, so that the next claim for the same data removes the file of an interrupted claim.
    const written = `${file}.${id}`;
    const remove = () => fs.promises.rm(written, { force: true });
    const known = await this.owner();
    await remove();
    if (known !== null) return known;
    await fs.promises.mkdir(this.#directory, { recursive: true, mode: 0o700 });
    try {
      await fs.promises.writeFile(written, `${id}\n`, { flag: "wx", mode: 0o600, flush: true });
      await giveName(written, file);
    } finally {
      await remove();
    }
    return (await this.owner()) ?? id;
  }

  keepsFirst = async () => true;

  /** Rejects with `unavailable` and advice when this process may not use the directory. */
  async #allowed<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explainedUse(error, this.#directory);
    }
  }
}

/** Gives a written file its final name, unless that name exists. */
async function giveName(written: string, name: string): Promise<void> {
  const { link, copyFile, stat, rename } = fs.promises;
  try {
    // Some file systems have no hard links.
    await link(written, name).catch((error) => {
      if (faultCode(error) === "EEXIST") throw error;
      return copyFile(written, name, fs.constants.COPYFILE_EXCL);
    });
  } catch (error) {
    if (faultCode(error) !== "EEXIST") throw error;
    // A full disk leaves an empty file. A file with content is the claim of another server.
    if ((await stat(name)).size === 0) await rename(written, name);
  }
}

/** Reads a file. Returns "" when it does not exist. */
async function textOf(file: string): Promise<string> {
  try {
    return await fs.promises.readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}

/** The backup to be made. */
type PlannedBackup = Pick<NewBackup, "data" | "destination" | "recipients">;

/**
 * Returns the first file system with too little space for a backup that will be written to it; null when all have
 * enough.
 */
export async function tooSmallFor(backup: PlannedBackup): Promise<TooSmall | null> {
  const file = databaseIn(backup.data);
  // Sizes are read by name. Opening and closing a file would release SQLite's POSIX locks on it, which belong to the
  // process.
  const sizes = await Promise.all(
    [file, `${file}-wal`].map((path) => fs.promises.stat(path).catch(() => ({ size: 0 }))),
  );
  const bytes = sizes.reduce((sum, { size }) => sum + size, 0);
  const directories = [workDirectory(backup)];
  if (backup.recipients.length > 0) directories.push(destinationDirectory(backup));
  /** The bytes needed on each file system, by its number. */
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
