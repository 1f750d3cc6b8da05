import fs from "node:fs";
import { join } from "node:path";
import { type Backup, backupLimits, noRoom } from "../domain/backups.ts";
import { DomainError } from "../domain/errors.ts";
import { idTime, ulidSource } from "../domain/ids.ts";
import { errorFields, type Log } from "../log.ts";
import { StoreError } from "../store/faults.ts";
import { databaseFile } from "../store/sqlite/database/directory.ts";
import { startThread, type Thread } from "../threads/start.ts";
import type { BackupThread } from "./backup-worker.ts";
import {
  type BackupFile,
  backupDirectory,
  isMissing,
  partialSize,
  removePartials,
  syncPartial,
  wholeBackups,
} from "./files.ts";
import type { NewBackup } from "./make.ts";

interface BackupsOptions {
  /** A data directory that this process has open. */
  readonly data: string;
  /** The number of backups to keep; the oldest is removed when a new one is complete. */
  readonly keep: number;
  /** The URL of `backup-worker.ts`. */
  readonly program: string;
  readonly now: () => number;
  readonly log: Log;
  /** Called with the public reason of each backup that failed, or could not begin for lack of room. */
  readonly failed?: (reason: string) => void;
}

interface Running {
  readonly id: string;
  thread: Thread<BackupThread> | null;
  /** The expected size; null before it is known. */
  expectedBytes: number | null;
  /** The size at the last look. */
  writtenBytes: number;
}

/**
 * The pause between two syncs of a growing backup. Without them its pages reach the disk all at once at the end, and a
 * small sync of another file waits for all of them.
 */
const syncPauseMs = 20;

/** A running or failed backup has no file. */
type KnownBackup = BackupFile | { readonly path: null; readonly backup: Backup };

/**
 * The backups of a data directory. They are made one at a time, each in a thread of its own. A complete backup is known
 * by its file alone; a running or failed one is known to this object.
 */
export class Backups {
  readonly #options: BackupsOptions;
  readonly #newId: () => string;
  #running: Running | null = null;
  #failed: Backup[] = [];
  #isStopped = false;

  /** Removes the partial files of an earlier process. */
  constructor(options: BackupsOptions) {
    this.#options = options;
    this.#newId = ulidSource(options.now);
    this.#removePartials();
  }

  /** Starts a backup. Rejects with `conflict` while another one runs, with `unavailable` when there is no space. */
  async begin(): Promise<Backup> {
    if (this.#running) {
      throw new DomainError(
        "conflict",
        `The backup ${this.#running.id} is still running; wait until it is done`,
      );
    }
    const running: Running = { id: this.#newId(), thread: null, expectedBytes: null, writtenBytes: 0 };
    this.#running = running;
    try {
      await this.#requireRoom();
      if (this.#isStopped) throw new DomainError("unavailable", "The server is stopping");
    } catch (error) {
      this.#running = null;
      if (!this.#isStopped) this.#options.failed?.(publicMessage(error));
      throw error;
    }
    void this.#run(running);
    void this.#keepSynced(running);
    return this.#shown(running);
  }

  /** Backups with ids below `below`, the newest first; "" for the first page. */
  async page(below: string, limit: number): Promise<Backup[]> {
    const all = (await this.#all()).map(({ backup }) => backup);
    const behind = below === "" ? all : all.filter(({ id }) => id < below);
    return behind.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
  }

  /** Rejects with `not_found`. */
  async find(id: string): Promise<Backup> {
    return (await this.#known(id)).backup;
  }

  /** The file of a backup. Rejects with `not_found`, and with `conflict` when it is not complete. */
  async content(id: string): Promise<BackupFile> {
    const { path, backup } = await this.#known(id);
    if (path !== null) return { path, backup };
    const message = backup.status === "running" ? "This backup is still running" : "This backup failed";
    throw new DomainError("conflict", message);
  }

  /** Deletes a backup. Rejects with `not_found`, and with `conflict` while it is running. */
  async remove(id: string): Promise<void> {
    const { path, backup } = await this.#known(id);
    if (backup.status === "running") {
      throw new DomainError("conflict", "This backup is still running; it can be deleted when it is done");
    }
    if (path !== null) await fs.promises.rm(path, { force: true });
    this.#failed = this.#failed.filter((one) => one.id !== id);
  }

  /** Cancels the running backup and removes its file. */
  stop(): void {
    this.#isStopped = true;
    if (!this.#running) return;
    // SQLite's copy cannot be interrupted: it continues for a while into an unlinked file.
    this.#running.thread?.end();
    this.#running = null;
    this.#removePartials();
  }

  /** A failure, as with a missing disk, must not stop the server. */
  #removePartials(): void {
    const { data, log } = this.#options;
    try {
      removePartials(data);
    } catch (error) {
      log.warn("backup.not_removed", errorFields(error));
    }
  }

  /** Looks the id up in the list of files: an id never becomes part of a path. */
  async #known(id: string): Promise<KnownBackup> {
    const found = (await this.#all()).find(({ backup }) => backup.id === id);
    if (!found) throw new DomainError("not_found", "There is no backup with this id");
    return found;
  }

  async #all(): Promise<KnownBackup[]> {
    // Before the files are listed, so that a backup that ends meanwhile is not missed.
    const others = [...this.#failed, ...(this.#running ? [await this.#shown(this.#running)] : [])];
    const ids = new Set(others.map(({ id }) => id));
    const whole = (await wholeBackups(this.#options.data)).filter(({ backup }) => !ids.has(backup.id));
    return [...whole, ...others.map((backup) => ({ path: null, backup }) as const)];
  }

  async #shown(running: Running): Promise<Backup> {
    const { id, expectedBytes } = running;
    // The partial file is renamed shortly before the backup counts as complete.
    const bytes = Math.max(running.writtenBytes, await partialSize(this.#options.data, id));
    running.writtenBytes = bytes;
    return {
      id,
      status: "running",
      progress: expectedBytes ? Math.min(1, Math.round((bytes / expectedBytes) * 1000) / 1000) : 0,
      size_bytes: bytes,
      sha256: null,
      error: null,
      created_at: idTime(id),
      finished_at: null,
    };
  }

  async #requireRoom(): Promise<void> {
    const { data } = this.#options;
    const file = join(data, databaseFile);
    // By name: opening and closing the file here would release SQLite's POSIX locks on it, which belong to the process.
    const sizes = await Promise.all(
      [file, `${file}-wal`].map((path) => fs.promises.stat(path).catch(() => ({ size: 0 }))),
    );
    const neededBytes = sizes.reduce((sum, { size }) => sum + size, backupLimits.spareBytes);
    const target = await fs.promises.statfs(backupDirectory(data)).catch((error) => {
      if (isMissing(error)) return fs.promises.statfs(data);
      throw error;
    });
    const freeBytes = target.bavail * target.bsize;
    if (freeBytes < neededBytes) throw noRoom({ neededBytes, freeBytes });
  }

  async #run(running: Running): Promise<void> {
    const { data, log, now } = this.#options;
    const startedAt = performance.now();
    try {
      await this.#make(running);
      const { id } = running;
      const made = (await wholeBackups(data)).find(({ backup }) => backup.id === id);
      const durationMs = Math.round(performance.now() - startedAt);
      log.info("backup.done", { id, size_bytes: made?.backup.size_bytes, duration_ms: durationMs });
      await this.#removeOld(id);
    } catch (error) {
      if (this.#isStopped) return;
      // The thread cannot do this itself after a crash.
      this.#removePartials();
      log.error("backup.failed", { id: running.id, ...errorFields(error) });
      const failed = { ...(await this.#shown(running)), error: publicMessage(error), finished_at: now() };
      this.#failed = [{ ...failed, status: "failed" as const }, ...this.#failed].slice(
        0,
        backupLimits.maxFailed,
      );
      this.#options.failed?.(publicMessage(error));
    } finally {
      running.thread?.end();
      if (this.#running === running) this.#running = null;
    }
  }

  async #keepSynced(running: Running): Promise<void> {
    const { data, log } = this.#options;
    while (this.#running === running) {
      await syncPartial(data, running.id).catch((error) =>
        log.debug("backup.not_synced", errorFields(error)),
      );
      await Bun.sleep(syncPauseMs);
    }
  }

  /** Makes the backup; resolves when it is complete. */
  async #make(running: Running): Promise<void> {
    const { data, program, log } = this.#options;
    const start: NewBackup = { data, id: running.id };
    const name = "backup";
    const options = { name, program, start, logLevel: "off", log, failed() {}, offered: {} } as const;
    running.thread = startThread<BackupThread>(options);
    if (this.#isStopped) throw new Error("It was stopped before it began");
    const { remote } = running.thread;
    running.expectedBytes = await remote.size();
    await remote.make();
  }

  /** Removes the oldest backups above the limit, but never the one just made, whatever the clock said. */
  async #removeOld(made: string): Promise<void> {
    const { data, keep, log } = this.#options;
    const others = (await wholeBackups(data)).filter(({ backup }) => backup.id !== made);
    const old = others.sort((a, b) => (a.backup.id < b.backup.id ? 1 : -1)).slice(keep - 1);
    for (const { path, backup } of old) {
      await fs.promises.rm(path, { force: true }).catch((error) => {
        log.warn("backup.not_removed", { id: backup.id, ...errorFields(error) });
      });
    }
  }
}

/** The public message of a failure; the log has the details. */
function publicMessage(error: unknown): string {
  if (error instanceof DomainError || error instanceof StoreError) return error.message;
  return "It failed for a reason that only the log of the server tells";
}
