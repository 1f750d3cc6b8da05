import fs, { closeSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Backup } from "../domain/backups.ts";
import { idTime } from "../domain/ids.ts";
import { syncDirectory } from "./private-file.ts";

/*
 * The files of backups. A backup's name holds its id and hash, so renaming a file is the one step that completes a
 * backup, and a copy elsewhere can be verified.
 */

const wholeName = /^([0-7][0-9A-HJKMNP-TV-Z]{25})\.([0-9a-f]{64})\.db$/;
/** A partial backup, or SQLite's journal beside it. */
const partialName = /^[0-7][0-9A-HJKMNP-TV-Z]{25}\.partial(-journal|-wal|-shm)?$/;

export interface BackupFile {
  readonly path: string;
  readonly backup: Backup;
}

/** The hash in the name of a backup; null for any other name. */
export function hashInName(path: string): string | null {
  return wholeName.exec(basename(path))?.[2] ?? null;
}

/** The directory of a data directory's backups. */
export function backupDirectory(data: string): string {
  return join(data, "backups");
}

/** The path of a backup until it is complete. */
export function partialPath(data: string, id: string): string {
  return join(backupDirectory(data), `${id}.partial`);
}

/** Creates an empty file for a new backup, and the directory when missing, both readable only for their owner. */
export function makePartial(data: string, id: string): void {
  mkdirSync(backupDirectory(data), { recursive: true, mode: 0o700 });
  closeSync(openSync(partialPath(data, id), "wx", 0o600));
}

/** Completes a backup whose content is on disk. */
export function keepPartial(data: string, id: string, sha256: string): void {
  const directory = backupDirectory(data);
  renameSync(partialPath(data, id), join(directory, `${id}.${sha256}.db`));
  syncDirectory(directory);
}

/** Removes the files of incomplete backups. */
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

/** All complete backups. */
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

/** Syncs an incomplete backup. */
export async function syncPartial(data: string, id: string): Promise<void> {
  const file = await fs.promises.open(partialPath(data, id)).catch(() => null);
  await file?.datasync().finally(() => file.close());
}

/** The size of an incomplete backup in bytes. */
export async function partialSize(data: string, id: string): Promise<number> {
  return (await fs.promises.stat(partialPath(data, id)).catch(() => null))?.size ?? 0;
}

export const isMissing = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ENOENT";
