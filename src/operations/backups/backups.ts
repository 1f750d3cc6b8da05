import { join } from "node:path";
import {
  type Backup,
  type BackupState,
  backupLimits,
  backupsOfPostgres,
  noSpaceForBackup,
} from "../../domain/backups.ts";
import { DomainError } from "../../domain/errors.ts";
import { idTime, ulidSource } from "../../domain/ids.ts";
import { StoreError } from "../../domain/store.ts";
import { durationMs, second } from "../../domain/time.ts";
import { inTime } from "../../runtime/event-loop.ts";
import type { ByteRange } from "../../runtime/files.ts";
import { errorFields, type Log } from "../../runtime/log.ts";
import { startThread, type Thread } from "../../runtime/threads.ts";
import type { DatabaseCounts } from "../../store/sqlite/backup.ts";
import type { BackupThread } from "./backup-worker.ts";
import {
  type AwsVariables,
  type BackupDestination,
  type DestinationSettings,
  destinationDirectory,
  type NewBackup,
  readDestination,
  shownDestination,
  workDirectory,
} from "./destination.ts";
import { DirectoryCalls, destinationMs, silentMs } from "./directory-calls.ts";
import { backupDirectory, removePartials, syncPartial } from "./files.ts";
import { KeptList, outdated, shownKept } from "./kept-list.ts";
import { openDestination, requireUsable, tooSmallFor } from "./open-destination.ts";
import { type Announce, BackupSchedule, BackupWatch } from "./schedule.ts";

/** The backups of a server. `state` is null when other software makes them. */
export type BackupKeeper = Pick<
  Backups,
  "check" | "begin" | "page" | "find" | "content" | "remove" | "stop"
> & { readonly state: BackupState | null };

const refuse = async (): Promise<never> => {
  throw new DomainError("conflict", backupsOfPostgres);
};

/** Replaces `Backups` when the data is in PostgreSQL. */
export const externalBackups: BackupKeeper = {
  state: null,
  async check() {},
  begin: refuse,
  page: async () => [],
  find: refuse,
  content: refuse,
  remove: refuse,
  async stop() {},
};

/** The settings of backups. */
export interface BackupConfig {
  readonly backupEvery: string | null;
  readonly backupTo: string | null;
  readonly backupEndpoint: string | null;
  readonly backupRegion: string | null;
  readonly backupRecipients: readonly string[];
  readonly keepBackups: number;
  readonly keepBackupsDays: number | null;
}

/** The interval of checks whether a backup is due. */
export const backupCheckMs = 10 * second;

/** The destination of the backups of a data directory. */
function backupDestination(
  data: string,
  { backupTo, backupEndpoint: endpoint, backupRegion: region }: BackupConfig,
  aws: AwsVariables,
): DestinationSettings {
  if (backupTo === null) return { kind: "directory", directory: backupDirectory(data) };
  return readDestination(backupTo, { endpoint, region, aws });
}

/** Milliseconds between the backups of the schedule; null for none. */
export const everyMsOf = ({ backupEvery }: Pick<BackupConfig, "backupEvery">) =>
  backupEvery === null ? null : durationMs(backupEvery);

/** Opens the configured destination of a data directory's backups; `location` names it without secrets. */
export async function openBackupDestination(
  data: string,
  config: BackupConfig,
  aws: AwsVariables,
): Promise<{
  readonly settings: DestinationSettings;
  readonly destination: BackupDestination;
  readonly location: string;
}> {
  const settings = backupDestination(data, config, aws);
  return { settings, destination: await openDestination(settings), location: shownDestination(settings) };
}

/** Opens the backups of a data directory by its settings. Rejects when a recipient's key is invalid. */
export async function openBackups(
  data: string,
  config: BackupConfig,
  {
    aws,
    ...options
  }: Pick<
    BackupsOptions,
    "dataId" | "program" | "now" | "monotonic" | "log" | "announce" | "isHeld" | "changed"
  > & {
    readonly aws: AwsVariables;
  },
): Promise<Backups> {
  const { backupRecipients: recipients } = config;
  if (recipients.length > 0) {
    const { encrypterFor } = await import("./encryption.ts");
    encrypterFor(recipients);
  }
  const backups = new Backups({
    data,
    destination: backupDestination(data, config, aws),
    recipients,
    everyMs: everyMsOf(config),
    keep: config.keepBackups,
    keepDays: config.keepBackupsDays,
    ...options,
  });
  return backups.begun();
}

interface BackupsOptions {
  /** A data directory that this process has open. */
  readonly data: string;
  /** Returns the id of the data, which copies of the data share. */
  readonly dataId: () => Promise<string>;
  readonly destination: DestinationSettings;
  /** Public keys of age; without any, backups are not encrypted. */
  readonly recipients: readonly string[];
  /** Milliseconds between the backups of the schedule; null for none. */
  readonly everyMs: number | null;
  /** The number of backups to keep; the oldest is removed when a new one is complete. */
  readonly keep: number;
  /** Days after which backups are removed; null for never. */
  readonly keepDays: number | null;
  /** The URL of `backup-worker.ts`. */
  readonly program: string;
  readonly now: () => number;
  /** A monotonic clock, in milliseconds. */
  readonly monotonic?: (() => number) | undefined;
  readonly log: Log;
  /** Announces a notice to the operator. */
  readonly announce?: Announce | undefined;
  /**
   * Whether this server may be a copy of one that stores its backups in the same destination. While it may be, no
   * backup is made by schedule, and none is deleted by retention.
   */
  readonly isHeld?: () => Promise<boolean>;
  /** Called when the list of backups has changed, and a few times per second while one is being made. */
  readonly changed?: () => void;
}

interface BackupContent {
  readonly backup: Backup;
  /** The file of the backup; null when it is not on this machine. */
  readonly path: string | null;
  read(range: ByteRange): ReadableStream<Uint8Array>;
}

/**
 * The backups of a data directory. They are made one at a time, each in a thread of its own. A complete backup is known
 * by its file alone; a running or failed one is known to this object.
 */
export class Backups {
  readonly #options: BackupsOptions;
  readonly #newId: () => string;
  readonly #schedule: BackupSchedule | null;
  readonly #watch: BackupWatch;
  readonly #monotonic: () => number;
  readonly #calls: DirectoryCalls;
  readonly #list: KeptList;
  #running: BackupRun | null = null;
  #failed: Backup[] = [];
  #counts = { made: 0, failed: 0 };
  #isStopped = false;
  /** The check in progress; it may wait for the destination. */
  #checking: Promise<void> | null = null;
  /** When the check in progress began to list a directory, by the monotonic clock, and whether it was reported. */
  #listing: { readonly at: number; isReported: boolean } | null = null;
  /** Ends the wait for the check in progress. */
  #endWait = () => {};

  constructor(options: BackupsOptions) {
    const { everyMs, now, monotonic = () => performance.now(), announce = () => {} } = options;
    this.#options = options;
    this.#monotonic = monotonic;
    this.#calls = new DirectoryCalls(destinationDirectory(options), monotonic);
    this.#list = new KeptList(options.destination, options.dataId, monotonic, this.#calls);
    // New ids are above all known ids, so that the newest backup has the highest id even if the clock was set back.
    this.#newId = ulidSource(() => Math.max(now(), (this.#list.newestAt ?? 0) + 1));
    this.#schedule = everyMs === null ? null : new BackupSchedule({ everyMs, now, monotonic });
    this.#watch = new BackupWatch({ schedule: this.#schedule, monotonic, announce });
  }

  /**
   * Lists the backups of a directory; a destination on the network is listed at the first check. Removes partial files
   * of an earlier process; in a directory outside of the data directory, only if they cannot belong to another server.
   */
  async begun(): Promise<this> {
    const { data, destination, isHeld } = this.#options;
    await this.#removePartials(backupDirectory(data));
    if (destination.kind !== "directory") return this;
    const listed = this.#list.refresh().then(
      () => true,
      () => false,
    );
    const isOurs = await inTime(listed, destinationMs);
    if (isOurs && !(await isHeld?.())) await this.#removePartials(destination.directory);
    return this;
  }

  /** The state as known. The destination is not accessed. */
  get state(): BackupState {
    const { everyMs } = this.#options;
    const { known, newestAt } = this.#list;
    return { isListed: known !== null, newestAt, everyMs, ...this.#counts };
  }

  /**
   * Begins a backup if one is due, and reports when the newest is too old. To be called at intervals. Resolves within
   * five seconds, and at once when the server stops, even if the destination does not respond.
   */
  async check(): Promise<void> {
    if (this.#isStopped) return;
    const { known, newestAt } = this.#list;
    // First, because a destination that hangs never lets the check or a backup in progress come to an end. While the
    // check before this one waits for the first list, no backup is known, and the age is the time since the start.
    if (known !== null || this.#checking) this.#watch.check(newestAt);
    this.#reportSilence();
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null;
    });
    const stopped = Promise.withResolvers<void>();
    this.#endWait = stopped.resolve;
    await inTime(Promise.race([this.#checking, stopped.promise]), destinationMs);
  }

  async #check(): Promise<void> {
    if (this.#isStopped || this.#running) return;
    if (this.#list.known === null && this.#schedule?.isDue(null) === false) return;
    const listing = { at: this.#monotonic(), isReported: false };
    // Requests to a destination on the network have time limits of their own.
    if (this.#options.destination.kind === "directory") this.#listing = listing;
    try {
      await this.#calls.idle();
      await this.#list.list();
    } catch (error) {
      if (!listing.isReported) this.#notListed(error);
    } finally {
      this.#listing = null;
    }
    const { known, newestAt } = this.#list;
    if (known === null || this.#isStopped) return;
    this.#watch.check(newestAt);
    if (this.#schedule && (await this.#options.isHeld?.())) return;
    // `begin` logs and reports the failure.
    if (this.#schedule?.isDue(newestAt)) await this.begin(false).catch(() => {});
  }

  /** Reports once that the directory does not respond to the check in progress. */
  #reportSilence(): void {
    const listing = this.#listing;
    if (!listing || listing.isReported || this.#monotonic() - listing.at < silentMs) return;
    listing.isReported = true;
    this.#notListed(this.#calls.silent);
  }

  #notListed(error: unknown): void {
    if (this.#isStopped) return;
    this.#options.log.failure("backup.not_listed", error);
    if (this.#schedule && this.#list.known === null) this.#hasFailed(error, false);
  }

  /**
   * Starts a backup. Rejects with `conflict` while another one runs, with `unavailable` when there is no space, or
   * the database or a directory cannot be used.
   * @param byHand whether a person requested it
   */
  async begin(byHand = true): Promise<Backup> {
    if (this.#running) {
      throw new DomainError(
        "conflict",
        `The backup ${this.#running.id} is still running; wait until it is done`,
      );
    }
    const { program, log, changed } = this.#options;
    const start = this.#newBackup();
    const running = new BackupRun({ start, program, log, changed, calls: this.#calls });
    this.#running = running;
    try {
      const tooSmall = await this.#calls.make(async () => {
        await requireUsable(start);
        return tooSmallFor(start);
      });
      if (tooSmall) throw noSpaceForBackup(tooSmall);
      if (this.#isStopped) throw new DomainError("unavailable", "The server is stopping");
    } catch (error) {
      this.#running = null;
      if (!this.#isStopped) this.#hasFailed(error, byHand);
      throw error;
    }
    void this.#run(running, byHand);
    return running.current();
  }

  /** Backups with ids below `below`, the newest first; "" for the first page. */
  async page(below: string, limit: number): Promise<Backup[]> {
    const all = await this.#all();
    const older = below === "" ? all : all.filter(({ id }) => id < below);
    return older.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
  }

  /** Rejects with `not_found`. */
  async find(id: string): Promise<Backup> {
    const found = (await this.#all()).find((backup) => backup.id === id);
    if (!found) throw new DomainError("not_found", "There is no backup with this id");
    return found;
  }

  /** A complete backup. Rejects with `not_found`, and with `conflict` when it is not complete. */
  async content(id: string): Promise<BackupContent> {
    const backup = await this.find(id);
    const kept = this.#list.known?.find((one) => one.id === id);
    if (backup.status === "done" && kept) {
      const opened = await this.#list.open();
      const { destination } = this.#options;
      const path = destination.kind === "directory" ? join(destination.directory, kept.name) : null;
      return { backup, path, read: (range) => opened.read(kept.name, range) };
    }
    const message = backup.status === "running" ? "This backup is still running" : "This backup failed";
    throw new DomainError("conflict", message);
  }

  /** Deletes a backup. Rejects with `not_found`, and with `conflict` while it is running. */
  async remove(id: string): Promise<void> {
    const { status } = await this.find(id);
    if (status === "running") {
      throw new DomainError("conflict", "This backup is still running; it can be deleted when it is done");
    }
    const kept = this.#list.known?.find((one) => one.id === id);
    if (kept) await this.#list.remove(kept);
    this.#failed = this.#failed.filter((one) => one.id !== id);
  }

  /** Cancels the running backup and removes its files; when their directory hangs, a later start removes them. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#endWait();
    const running = this.#running;
    if (!running) return;
    this.#running = null;
    running.end();
    await this.#removePartialsOf(running.id);
  }

  #newBackup(): NewBackup {
    const { data, destination, recipients } = this.#options;
    return { data, destination, recipients, id: this.#newId() };
  }

  /**
   * Resolves within five seconds; the removal may end later. Logs a failure: a missing disk, for example, must not stop
   * the server.
   */
  async #removePartials(directory: string, id?: string): Promise<void> {
    const removed = this.#calls
      .idle()
      .then(() => this.#calls.make(() => removePartials(directory, id)))
      .catch((error) => {
        this.#options.log.warn("backup.not_removed", errorFields(error));
      });
    await inTime(removed, destinationMs);
  }

  async #removePartialsOf(id: string): Promise<void> {
    const { data } = this.#options;
    const directories = new Set([backupDirectory(data), destinationDirectory(this.#options)]);
    await Promise.all([...directories].map((directory) => this.#removePartials(directory, id)));
  }

  async #all(): Promise<Backup[]> {
    // Running and failed backups are read before the list of files, so that a backup that ends meanwhile is not missed.
    const others = [...this.#failed, ...(this.#running ? [this.#running.current()] : [])];
    const ids = new Set(others.map(({ id }) => id));
    // Only a running backup changes the directory; while its bytes are synced, calls on the directory can take long.
    const kept = (this.#running && this.#list.known) ?? (await this.#list.list());
    return [...kept.filter(({ id }) => !ids.has(id)).map(shownKept), ...others];
  }

  async #run(running: BackupRun, byHand: boolean): Promise<void> {
    const { log, now } = this.#options;
    const { id } = running;
    const startedAt = performance.now();
    try {
      await this.#list.claim();
      const counts = await running.make();
      this.#counts.made++;
      this.#schedule?.made();
      // The backup is stored and verified. A failure to list the destination does not make it a failed backup.
      const kept = await this.#list.refresh().catch((error) => {
        log.failure("backup.not_listed", error);
        return null;
      });
      const size_bytes = kept?.find((one) => one.id === id)?.size;
      const durationMs = Math.round(performance.now() - startedAt);
      log.info("backup.done", { id, size_bytes, duration_ms: durationMs, ...counts });
      this.#watch.made();
      if (kept) {
        await this.#removeOld(id).catch((error) => log.warn("backup.not_removed", errorFields(error)));
      }
    } catch (error) {
      if (this.#isStopped) return;
      // A thread that has crashed leaves its partial files.
      await this.#removePartialsOf(id);
      if (this.#isStopped) return;
      log.failure("backup.failed", error, { id });
      const failed = { ...running.current(), error: publicMessage(error), finished_at: now() };
      this.#failed = [{ ...failed, status: "failed" as const }, ...this.#failed].slice(
        0,
        backupLimits.maxFailed,
      );
      this.#hasFailed(error, byHand);
    } finally {
      if (this.#running === running) this.#running = null;
      this.#options.changed?.();
    }
  }

  #hasFailed(error: unknown, byHand: boolean): void {
    this.#counts.failed++;
    this.#schedule?.failed();
    this.#watch.failed(publicMessage(error), byHand);
  }

  /** Removes the backups that retention does not keep, but never the backup `made`. */
  async #removeOld(made: string): Promise<void> {
    const { keep, keepDays, now, log, isHeld } = this.#options;
    if (await isHeld?.()) return;
    for (const old of outdated(this.#list.known ?? [], { keep, keepDays, now: now(), made })) {
      await this.#list.remove(old).catch((error) => {
        log.warn("backup.not_removed", { id: old.id, ...errorFields(error) });
      });
    }
  }
}

/** Returns the public message of a failure; the log has the details. */
function publicMessage(error: unknown): string {
  if (error instanceof DomainError || error instanceof StoreError) return error.message;
  return "The log of the server has the reason";
}

interface RunOptions {
  readonly start: NewBackup;
  /** The URL of `backup-worker.ts`. */
  readonly program: string;
  readonly log: Log;
  readonly calls: DirectoryCalls;
  /** Called a few times per second while the backup is being made. */
  readonly changed?: (() => void) | undefined;
}

/**
 * The pause between two syncs of a growing backup. Without these syncs, all of its pages reach the disk at the end, and
 * a small sync of another file waits for all of them.
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
  /** The expected size in bytes; null before it is known. */
  #expectedBytes: number | null = null;
  /** The size in bytes when it was last synced. */
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

  /** The backup with its progress so far. The directory is not accessed. */
  current(): Backup {
    const { start } = this.#options;
    const bytes = this.#writtenBytes;
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
    const { calls, changed, log } = this.#options;
    const sized = (bytes: number) => {
      this.#writtenBytes = Math.max(this.#writtenBytes, bytes);
    };
    for (let syncs = 0; !this.#hasEnded; syncs++) {
      if (syncs % syncsPerChange === 0) changed?.();
      await calls
        .make(() => syncPartial(this.#directory, this.id, sized))
        .catch((error) => log.debug("backup.not_synced", errorFields(error)));
      await Bun.sleep(syncPauseMs);
    }
  }
}
