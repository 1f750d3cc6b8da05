import { statfsSync, statSync } from "node:fs";
import type { ServerNoticeData } from "../domain/notices.ts";
import type { KindSizes } from "../domain/sizes.ts";
import {
  type CheckStorage,
  type StorageFault,
  type Store,
  saveBeforeStop,
  stalledAfterMs,
} from "../domain/store.ts";
import { hour, minute, second } from "../domain/time.ts";
import { inTime } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import { repeating, type Service } from "../runtime/services.ts";
import { databaseIn, logBytes } from "../store/sqlite/directory.ts";

const checkEveryMs = 5 * second;
const checkAgainMs = second;

/** The longest time that callers wait for a check. */
const checkAtMostMs = second;

const messages: Readonly<Record<StorageFault, string>> = {
  full: "The disk of the database is full: nothing can be written",
  failing: "The disk of the database fails",
  damaged: "The database is damaged: stop the server and restore a backup",
  unreachable: "The database cannot be reached, or does not accept writes",
  stalled: `A read or write of the database has not ended for ${stalledAfterMs / second} seconds`,
  taken: "Another process has taken the data directory: this server stops",
  replaced: `A file of the database was removed or replaced while the server was running: move it back, and restart the server. ${saveBeforeStop}`,
};

const advice: Readonly<Record<StorageFault, string>> = {
  full: "Free some space: move old backups away, or enlarge the disk. Nothing that was acknowledged is lost.",
  failing: "Check the disk, its mount and the system log.",
  damaged: "Stop the server, move the database away and restore the newest backup: onair restore.",
  replaced:
    "Nothing is written any more, and reads still work. The open files of the server have all data until it stops. Without them, restore the newest backup: onair restore.",
  taken:
    "Find out which process it is (onair.pid), and run one server on a directory. Keep onair.lock, and use a volume whose locks reach every host.",
  unreachable: "Check that the database is running and reachable over the network.",
  stalled:
    "Look for a disk that does not answer, or in PostgreSQL for transactions that hold locks (pg_stat_activity, pg_locks), and end them.",
};

/** Announces a notice to the operator. */
type Announce = (type: "storage.failing" | "storage.recovered", data: ServerNoticeData) => void;

/** Faults that last until the server is restarted. */
const lasting: ReadonlySet<StorageFault | null> = new Set<StorageFault>(["damaged", "replaced", "taken"]);

/**
 * Tracks whether the storage can be used, in the thread that answers requests: by faults of reads and writes, which are
 * reported with `note`, and by a check at intervals. Logs one line for each change.
 */
export class StorageWatch {
  #fault: StorageFault | null = null;
  #check: CheckStorage | null = null;
  #announce: Announce = () => {};
  #checking: Promise<void> | null = null;
  #checkBeganAt = Number.NEGATIVE_INFINITY;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  readonly #log: Log;
  readonly #now: () => number;

  constructor(log: Log, now: () => number = performance.now.bind(performance)) {
    this.#log = log;
    this.#now = now;
  }

  /** Why the storage cannot be used; null when it can. */
  get problem(): string | null {
    return this.#fault && messages[this.#fault];
  }

  /** Reports a fault that a read or a write has found. */
  readonly note = (fault: StorageFault): void => {
    if (this.#fault === fault || lasting.has(this.#fault)) return;
    if (this.#fault !== null && !lasting.has(fault)) return;
    this.#fault = fault;
    this.#report();
  };

  /** Starts checking, logging and announcing. Before this call, a server that cannot start reports the reason. */
  start(check: CheckStorage, announce: Announce = () => {}): void {
    this.#check = check;
    this.#announce = announce;
    this.#report();
  }

  #report(): void {
    if (this.#check === null) return;
    if (this.#fault !== null) {
      this.#log.error(`storage_${this.#fault}`, { message: messages[this.#fault] });
      const data = { summary: `${messages[this.#fault]}.`, advice: advice[this.#fault], fault: this.#fault };
      this.#announce("storage.failing", data);
    }
    this.#schedule();
  }

  stop(): void {
    this.#check = null;
    clearTimeout(this.#timer);
  }

  /** Checks now, unless a check has just been made. */
  async check(): Promise<void> {
    const check = this.#check;
    if (check === null || this.#now() - this.#checkedAt < checkAgainMs) return;
    if (this.#checking === null) this.#checkBeganAt = this.#now();
    this.#checking ??= this.#checkBy(check).finally(() => {
      this.#checking = null;
    });
    await inTime(this.#checking, checkAtMostMs);
    if (this.#checking !== null && this.#now() - this.#checkBeganAt > stalledAfterMs) this.note("stalled");
  }

  async #checkBy(check: CheckStorage): Promise<void> {
    const before = this.#fault;
    // The check fails when a server that is stopping closes the storage.
    const found = await check(before !== null).catch(() => before);
    this.#checkedAt = this.#now();
    if (found !== null) return this.note(found);
    if (before === null || lasting.has(this.#fault)) return;
    this.#fault = null;
    this.#log.warn("storage_recovered", { after: before, message: "The storage accepts writes again" });
    this.#announce("storage.recovered", { summary: "The storage accepts writes again.", advice: null });
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#check === null) return;
    const next = () => this.check().finally(() => this.#schedule());
    this.#timer = setTimeout(next, this.#fault === null ? checkEveryMs : checkAgainMs).unref();
  }
}

/** The sizes of the disk and of the database on it, in bytes. */
export interface StorageSizes {
  readonly total_bytes: number;
  /** The space that a user without privileges can use. */
  readonly free_bytes: number;
  readonly database_bytes: number;
}

const sampleEveryMs = 10 * minute;

/** The sizes of a data directory. Throws when it cannot be read. */
export function sizesOf(directory: string): StorageSizes {
  const { bsize, blocks, bavail } = statfsSync(directory);
  const file = databaseIn(directory);
  const database_bytes = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) + logBytes(file);
  return { total_bytes: blocks * bsize, free_bytes: bavail * bsize, database_bytes };
}

/** The size of the write-ahead log of a data directory, in bytes. */
export function logBytesOf(directory: string): number {
  return logBytes(databaseIn(directory));
}

/** The sizes of the kinds of data, and the time of the measurement in milliseconds since the epoch. */
export interface MeasuredKinds {
  readonly kinds: KindSizes;
  readonly at: number;
}

const measureEveryMs = hour;
const waitAtMostMs = 2 * second;

/**
 * Returns a function that measures at most once an hour. While a measurement takes longer than two seconds, and when it
 * fails, the function returns the former measurement; null without one.
 */
export function hourlyKinds(
  measure: () => Promise<KindSizes>,
  now: () => number,
): () => Promise<MeasuredKinds | null> {
  let last: MeasuredKinds | null = null;
  let measuring: Promise<void> | null = null;
  const measureOnce = async (): Promise<void> => {
    try {
      last = { kinds: await measure(), at: now() };
    } catch {
      // The former value stays; `StorageWatch` reports the fault.
    } finally {
      measuring = null;
    }
  };
  return async () => {
    if (last && Math.abs(now() - last.at) < measureEveryMs) return last;
    measuring ??= measureOnce();
    await inTime(measuring, waitAtMostMs);
    return last;
  };
}

/** The service that stores samples of the sizes, from which `diskForecast` estimates when the disk is full. */
export function samplingSizes(
  directory: string,
  store: Pick<Store, "statistics">,
  now: () => number,
): Service {
  return repeating("storage sizes", sampleEveryMs, async () => {
    try {
      const { free_bytes, database_bytes } = sizesOf(directory);
      const at = Math.floor(now() / minute) * minute;
      const counts = { samples: 1, free_bytes, database_bytes };
      await store.statistics.add([{ kind: "storage", subject: "", at, counts, durations: [] }]);
    } catch {
      // One sample is missing; `StorageWatch` reports the fault.
    }
  });
}
