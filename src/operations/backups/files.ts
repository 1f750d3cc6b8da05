import fs, { closeSync, constants, fsyncSync, mkdirSync, openSync, renameSync } from "node:fs";
import { basename, join } from "node:path";

/*
 * The files of backups. A backup's name holds its id and hash, so renaming a file is the one step that completes a
 * backup, and a copy of the file can be verified.
 */

const wholeName = /^([0-7][0-9A-HJKMNP-TV-Z]{25})\.([0-9a-f]{64})\.db(\.age)?$/;
/** The name of a partial backup, plain or encrypted, or of SQLite's journal for it. */
const partialName = /^[0-7][0-9A-HJKMNP-TV-Z]{25}\.partial(\.age|-journal|-wal|-shm)?$/;

/** A complete backup, by its file or object. */
export interface KeptBackup {
  readonly name: string;
  readonly id: string;
  /** The hash of the stored, possibly encrypted file, in hexadecimal. */
  readonly sha256: string;
  readonly isEncrypted: boolean;
  readonly size: number;
  /** When the backup was completed, in milliseconds since the epoch. */
  readonly keptAt: number;
}

/** Parses the name of a complete backup; null for any other name. */
export function readName(path: string): Pick<KeptBackup, "name" | "id" | "sha256" | "isEncrypted"> | null {
  const [name, id, sha256, age] = wholeName.exec(basename(path)) ?? [];
  if (name === undefined || id === undefined || sha256 === undefined) return null;
  return { name, id, sha256, isEncrypted: age !== undefined };
}

/** The name of a complete backup. */
export function nameOf(id: string, sha256: string, isEncrypted: boolean): string {
  return `${id}.${sha256}.db${isEncrypted ? ".age" : ""}`;
}

/** The directory of a data directory's backups, unless another destination is set. */
export function backupDirectory(data: string): string {
  return join(data, "backups");
}

/** The path of a backup until it is complete. */
export function partialPath(directory: string, id: string): string {
  return join(directory, `${id}.partial`);
}

/** Creates an empty file for a new backup, and the directory when missing, both readable only for their owner. */
export function makePartial(directory: string, id: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  closeSync(openSync(partialPath(directory, id), "wx", 0o600));
}

/** Completes a backup whose content is on disk. */
export function keepPartial(directory: string, partial: string, name: string): void {
  renameSync(join(directory, partial), join(directory, name));
  syncDirectory(directory);
}

/** Removes the files of all incomplete backups, or only of the one with this id. Rejects with the first failure. */
export async function removePartials(directory: string, id = ""): Promise<void> {
  const partial = (await namesIn(directory)).filter((name) => name.startsWith(id) && partialName.test(name));
  // One after another, so that a directory that hangs holds one of the few threads for files.
  const errors: unknown[] = [];
  for (const name of partial) {
    await fs.promises.rm(join(directory, name), { force: true }).catch((error) => errors.push(error));
  }
  if (errors.length > 0) throw errors[0];
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await fs.promises.readdir(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** All complete backups. */
export async function wholeBackups(directory: string): Promise<KeptBackup[]> {
  const names = await namesIn(directory);
  const found: KeptBackup[] = [];
  for (const name of names) {
    const one = await wholeBackup(directory, name);
    if (one) found.push(one);
  }
  return found;
}

async function wholeBackup(directory: string, name: string): Promise<KeptBackup | null> {
  const read = readName(name);
  const stats = read && (await fs.promises.stat(join(directory, name)).catch(() => null));
  if (!read || !stats?.isFile()) return null;
  return { ...read, size: stats.size, keptAt: Math.round(stats.mtimeMs) };
}

/** Syncs an incomplete backup. Calls `sized` with its size in bytes before that. */
export async function syncPartial(
  directory: string,
  id: string,
  sized: (bytes: number) => void,
): Promise<void> {
  const file = await fs.promises.open(partialPath(directory, id)).catch(() => null);
  if (!file) return;
  try {
    sized((await file.stat()).size);
    await file.datasync();
  } finally {
    await file.close();
  }
}

export const isMissing = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

/** Size and hash (hexadecimal) of a file's content. */
export interface Content {
  readonly size_bytes: number;
  readonly sha256: string;
}

/** Syncs after this many bytes, so that syncs of other files on the disk do not wait for the whole file. */
const syncedBytes = 4 * 1024 * 1024;

const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;

/**
 * Writes a stream into a file that is readable only for its owner. Replaces an existing file, but follows no symbolic
 * link. Calls `wrote` with the number of bytes so far. Resolves when the content is on disk.
 */
export async function writePrivately(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  wrote: (bytes: number) => void,
): Promise<Content> {
  const hasher = new Bun.CryptoHasher("sha256");
  let size = 0;
  let synced = 0;
  // `fs` loads its promises on first use. An import of "node:fs/promises" would load them at the start.
  const file = await fs.promises.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  try {
    await file.chmod(0o600);
    for await (const chunk of chunks) {
      hasher.update(chunk);
      await file.writeFile(chunk);
      size += chunk.length;
      wrote(size);
      if (size - synced < syncedBytes) continue;
      await file.datasync();
      synced = size;
    }
    await file.sync();
  } catch (error) {
    // The system's error for a failed write names no file.
    throw error instanceof Error && "syscall" in error && error.syscall !== "read"
      ? Object.assign(error, { path })
      : error;
  } finally {
    await file.close();
  }
  return { size_bytes: size, sha256: hasher.digest("hex") };
}

/** Syncs the entries of a directory. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
