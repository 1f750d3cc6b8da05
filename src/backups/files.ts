import fs, { closeSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Backup } from "../domain/backups.ts";
import { idTime } from "../domain/ids.ts";
import { syncDirectory } from "./private-file.ts";

/*
 * The files of backups. All that is known of one is its file: id and hash are its name, so that renaming it is the one
 * step that makes it a backup, and whoever copies it elsewhere can check it.
 */

const wholeName = /^([0-7][0-9A-HJKMNP-TV-Z]{25})\.([0-9a-f]{64})\.db$/;
/** Of one that is being written, and SQLite's journal beside it. */
const partialName = /^[0-7][0-9A-HJKMNP-TV-Z]{25}\.partial(-journal|-wal|-shm)?$/;

export interface BackupFile {
  readonly path: string;
  readonly backup: Backup;
}

/** The hash that the name of a backup holds; null for any other name. */
export function hashInName(path: string): string | null {
  return wholeName.exec(basename(path))?.[2] ?? null;
}

/** Where the backups of a data directory are. */
export function backupDirectory(data: string): string {
  return join(data, "backups");
}

/** Where a backup is until it is whole. */
export function partialPath(data: string, id: string): string {
  return join(backupDirectory(data), `${id}.partial`);
}

/** Makes the directory where it is missing, and an empty file in it for a new backup, both for their owner alone. */
export function makePartial(data: string, id: string): void {
  mkdirSync(backupDirectory(data), { recursive: true, mode: 0o700 });
  closeSync(openSync(partialPath(data, id), "wx", 0o600));
}

/** Makes what was written, and is on disk, a backup. */
export function keepPartial(data: string, id: string, sha256: string): void {
  const directory = backupDirectory(data);
  renameSync(partialPath(data, id), join(directory, `${id}.${sha256}.db`));
  syncDirectory(directory);
}

/** Removes what is left of backups that were never finished. */
export function removePartials(data: string): void {
  const directory = backupDirectory(data);
  for (const name of namesIn(directory))
    if (partialName.test(name)) rmSync(join(directory, name), { force: true });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** All whole backups. */
export async function wholeBackups(data: string): Promise<BackupFile[]> {
  const directory = backupDirectory(data);
  const names = await fs.promises.readdir(directory).catch((error) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const found = await Promise.all(
    names.map((name) => wholeBackup(join(directory, name), wholeName.exec(name))),
  );
  return found.filter((one) => one !== null);
}

async function wholeBackup(path: string, name: RegExpExecArray | null): Promise<BackupFile | null> {
  const [, id, sha256] = name ?? [];
  const stats = id && sha256 ? await fs.promises.stat(path).catch(() => null) : null;
  if (!id || !sha256 || !stats?.isFile()) return null;
  const backup: Backup = {
    id,
    status: "done",
    progress: 1,
    size_bytes: stats.size,
    sha256,
    error: null,
    created_at: idTime(id),
    finished_at: Math.round(stats.mtimeMs),
  };
  return { path, backup };
}

/** Has on disk what is written so far of a backup that is not finished. */
export async function syncPartial(data: string, id: string): Promise<void> {
  const file = await fs.promises.open(partialPath(data, id)).catch(() => null);
  await file?.datasync().finally(() => file.close());
}

/** What is written of a backup that is not finished, in bytes. */
export async function partialSize(data: string, id: string): Promise<number> {
  return (await fs.promises.stat(partialPath(data, id)).catch(() => null))?.size ?? 0;
}

export const isMissing = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ENOENT";
