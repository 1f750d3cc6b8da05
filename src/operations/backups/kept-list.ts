import type { Backup } from "../../domain/backups.ts";
import { idTime } from "../../domain/ids.ts";
import { day, minute } from "../../domain/time.ts";
import {
  type BackupDestination,
  type DestinationSettings,
  destinationOfOthers,
  shownDestination,
} from "./destination.ts";
import type { DirectoryCalls } from "./directory-calls.ts";
import type { KeptBackup } from "./files.ts";
import { openDestination } from "./open-destination.ts";

/** The time for which a list read over the network is cached. */
const cachedMs = 10 * minute;
/** The time after a failure in which callers get the same error without another request. */
const cachedErrorMs = minute;

/** A cached list of the complete backups in a destination. */
export class KeptList {
  readonly #settings: DestinationSettings;
  readonly #dataId: () => Promise<string>;
  readonly #monotonic: () => number;
  /** Makes a call on the destination. */
  readonly #call: DirectoryCalls["make"];
  readonly #calls: DirectoryCalls;
  #destination: Promise<BackupDestination> | null = null;
  #known: readonly KeptBackup[] | null = null;
  #listedAt = 0;
  #asking: Promise<readonly KeptBackup[]> | null = null;
  /** The failure of the last attempt to read the list; null after success. */
  #unlisted: { readonly error: unknown; readonly at: number } | null = null;

  /**
   * @param dataId returns the id of the data whose backups are listed
   * @param monotonic a monotonic clock, in milliseconds
   * @param calls through which a directory is called
   */
  constructor(
    settings: DestinationSettings,
    dataId: () => Promise<string>,
    monotonic: () => number,
    calls: DirectoryCalls,
  ) {
    this.#settings = settings;
    this.#dataId = dataId;
    this.#monotonic = monotonic;
    this.#calls = calls;
    this.#call = settings.kind === "directory" ? (work) => calls.make(work) : (work) => work();
  }

  /** The backups as last listed; null before the list was first read. */
  get known(): readonly KeptBackup[] | null {
    return this.#known;
  }

  /** When the newest known backup began; null without one. */
  get newestAt(): number | null {
    const newest = this.#known
      ?.map(({ id }) => id)
      .sort()
      .at(-1);
    return newest === undefined ? null : idTime(newest);
  }

  /**
   * Returns the backups. Reads a directory on each call, and other destinations a few times an hour. Rejects when the
   * destination cannot be reached.
   */
  async list(): Promise<readonly KeptBackup[]> {
    const at = this.#monotonic();
    if (this.#settings.kind === "directory") {
      this.#calls.requireResponse();
      return this.#shared();
    }
    if (this.#known !== null && at - this.#listedAt < cachedMs) return this.#known;
    if (this.#unlisted && at - this.#unlisted.at < cachedErrorMs) throw this.#unlisted.error;
    return this.#shared();
  }

  /** Reads the list now, without the cache. */
  async refresh(): Promise<readonly KeptBackup[]> {
    await this.#asking?.catch(() => {});
    return this.#shared();
  }

  #shared(): Promise<readonly KeptBackup[]> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  open(): Promise<BackupDestination> {
    this.#destination ??= openDestination(this.#settings);
    return this.#destination;
  }

  /** Claims the destination for the data. Rejects with `unavailable` when other data has claimed it. */
  async claim(): Promise<void> {
    const [destination, id] = await Promise.all([this.open(), this.#dataId()]);
    this.#requireOwn(await this.#call(() => destination.claim(id)), id);
  }

  #requireOwn(owner: string, id: string): void {
    if (owner !== id) throw destinationOfOthers(shownDestination(this.#settings));
  }

  async remove({ id, name }: KeptBackup): Promise<void> {
    const destination = await this.open();
    await this.#call(() => destination.remove(name));
    this.#known = this.#known?.filter((one) => one.id !== id) ?? null;
  }

  async #ask(): Promise<readonly KeptBackup[]> {
    try {
      const destination = await this.open();
      this.#known = await this.#call(async () => {
        const owner = await destination.owner();
        if (owner !== null) this.#requireOwn(owner, await this.#dataId());
        return destination.list();
      });
      this.#listedAt = this.#monotonic();
      this.#unlisted = null;
      return this.#known;
    } catch (error) {
      this.#unlisted = { error, at: this.#monotonic() };
      // Expires the cache, so that later calls reject and do not return an outdated list.
      this.#listedAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }
}

/** The public form of a complete backup. */
export function shownKept({ id, size, sha256, isEncrypted, keptAt }: KeptBackup): Backup {
  return {
    id,
    status: "done",
    progress: 1,
    size_bytes: size,
    sha256,
    is_encrypted: isEncrypted,
    error: null,
    created_at: idTime(id),
    finished_at: keptAt,
  };
}

interface KeepOptions {
  readonly keep: number;
  /** Days after which backups are removed; null for no limit of age. */
  readonly keepDays: number | null;
  readonly now: number;
  /** The id of the backup just made. That backup stays even if the clock was wrong. */
  readonly made: string;
}

/** The newest backups that stay whatever their age: a clock that is far ahead must not remove all backups. */
const alwaysKept = 3;

/**
 * Returns the backups to remove when a new one is complete: the oldest beyond `keep`, and those older than `keepDays`.
 */
export function outdated(all: readonly KeptBackup[], options: KeepOptions): KeptBackup[] {
  const { keep, keepDays, now, made } = options;
  const others = all.filter(({ id }) => id !== made).sort((a, b) => (a.id < b.id ? 1 : -1));
  const oldest = keepDays === null ? Number.NEGATIVE_INFINITY : now - keepDays * day;
  return others.filter(({ id }, at) => at >= keep - 1 || (at >= alwaysKept - 1 && idTime(id) < oldest));
}
