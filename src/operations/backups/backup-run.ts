import type { Backup } from "../../domain/backups.ts";
import { idTime } from "../../domain/ids.ts";
import { errorFields, type Log } from "../../runtime/log.ts";
import { startThread, type Thread } from "../../runtime/threads.ts";
import type { DatabaseCounts } from "../../store/sqlite/backup.ts";
import type { BackupThread } from "./backup-worker.ts";
import { type NewBackup, workDirectory } from "./destination.ts";
import { partialSize, syncPartial } from "./files.ts";

interface RunOptions {
  readonly start: NewBackup;
  /** The URL of `backup-worker.ts`. */
  readonly program: string;
  readonly log: Log;
  /** Called a few times per second while the backup is being made. */
  readonly changed?: (() => void) | undefined;
}

/**
 * The pause between two syncs of a growing backup. Without them its pages reach the disk all at once at the end, and a
 * small sync of another file waits for all of them.
 */
const syncPauseMs = 20;
const syncsPerChange = 20;

/** One backup that is being made, in a thread of its own. */
export class BackupRun {
  readonly id: string;
  readonly #options: RunOptions;
  readonly #directory: string;
  #thread: Thread<BackupThread> | null = null;
  #hasEnded = false;
  /** The expected size; null before it is known. */
  #expectedBytes: number | null = null;
  /** The last known size. */
  #writtenBytes = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    this.id = options.start.id;
    this.#directory = workDirectory(options.start);
  }

  /** Makes the backup; resolves with the number of its rows when it is complete. */
  async make(): Promise<DatabaseCounts> {
    const { start, program, log } = this.#options;
    const options = {
      name: "backup",
      program,
      start,
      logLevel: "off",
      log,
      failed() {},
      offered: {},
    } as const;
    if (this.#hasEnded) throw new Error("It was stopped before it began");
    this.#thread = startThread<BackupThread>(options);
    void this.#keepSynced();
    try {
      const { remote } = this.#thread;
      this.#expectedBytes = await remote.size();
      return await remote.make();
    } finally {
      this.end();
    }
  }

  /** Ends the thread. SQLite's copy cannot be interrupted: it continues for a while into an unlinked file. */
  end(): void {
    this.#hasEnded = true;
    this.#thread?.end();
  }

  /** The backup with its progress so far. */
  async shown(): Promise<Backup> {
    const { start } = this.#options;
    // At the end the partial file is renamed, uploaded or encrypted, so its size may shrink.
    const bytes = Math.max(this.#writtenBytes, await partialSize(this.#directory, this.id));
    this.#writtenBytes = bytes;
    const expected = this.#expectedBytes;
    return {
      id: this.id,
      status: "running",
      progress: expected ? Math.min(1, Math.round((bytes / expected) * 1000) / 1000) : 0,
      size_bytes: bytes,
      sha256: null,
      is_encrypted: start.recipients.length > 0,
      error: null,
      created_at: idTime(this.id),
      finished_at: null,
    };
  }

  async #keepSynced(): Promise<void> {
    for (let syncs = 0; !this.#hasEnded; syncs++) {
      if (syncs % syncsPerChange === 0) this.#options.changed?.();
      await syncPartial(this.#directory, this.id).catch((error) =>
        this.#options.log.debug("backup.not_synced", errorFields(error)),
      );
      await Bun.sleep(syncPauseMs);
    }
  }
}
