import { day, hour, minute, shownDuration } from "../../domain/time.ts";

interface ScheduleOptions {
  readonly everyMs: number;
  readonly now: () => number;
  /** A monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
}

/** A backup that is further in the future than this time was made while the clock was ahead. */
const toleranceMs = minute;
const longestRetryMs = hour;

/**
 * Decides when the next backup is due: once in each period of the wall clock, so that restarts neither move nor repeat
 * it, and a missed backup is made later. A second rule by elapsed time holds when the clock is set: at least half a
 * period, and at most a whole period, passes between backups.
 */
export class BackupSchedule {
  readonly #options: ScheduleOptions;
  readonly #startedAt: number;
  /** When this process made the last backup, by the monotonic clock; null without one. */
  #madeAt: number | null = null;
  #retryAt = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#startedAt = options.monotonic();
  }

  /** @param newestAt when the newest backup began; null without one */
  isDue(newestAt: number | null): boolean {
    const { everyMs, now, monotonic } = this.#options;
    const at = monotonic();
    if (at < this.#retryAt) return false;
    if (this.#madeAt !== null && at - this.#madeAt < everyMs / 2) return false;
    if (newestAt === null) return true;
    if (at >= this.#latest(newestAt)) return true;
    const isPlausible = newestAt <= now() + toleranceMs;
    return isPlausible && newestAt < now() - (now() % everyMs);
  }

  /** Must be called when a backup is complete, scheduled or requested. */
  made(): void {
    this.#madeAt = this.#options.monotonic();
    this.#failures = 0;
    this.#retryAt = Number.NEGATIVE_INFINITY;
  }

  /** Must be called when a backup failed: the next is due after one minute, two, four and so on, up to an hour. */
  failed(): void {
    const pauseMs = Math.min(this.#options.everyMs, longestRetryMs, minute * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#retryAt = this.#options.monotonic() + pauseMs;
  }

  /** Whether the newest backup is more than two periods old. */
  isOverdue(newestAt: number | null): boolean {
    return this.ageOf(newestAt) > 2 * this.#options.everyMs;
  }

  /** The age of the newest backup in milliseconds; without one, the time since the start. */
  ageOf(newestAt: number | null): number {
    const { now, monotonic } = this.#options;
    // A backup of this process has an age by the monotonic clock.
    if (this.#madeAt !== null) return monotonic() - this.#madeAt;
    const elapsedMs = monotonic() - this.#startedAt;
    return newestAt === null ? elapsedMs : Math.max(now() - newestAt, elapsedMs);
  }

  /** The latest time of the next backup, by the monotonic clock. */
  #latest(newestAt: number): number {
    const { everyMs, now, monotonic } = this.#options;
    if (this.#madeAt !== null) return this.#madeAt + everyMs;
    // The age of a backup from the future is unknown.
    if (newestAt > now() + toleranceMs) return this.#startedAt + Math.min(everyMs, longestRetryMs);
    return monotonic() + everyMs - Math.max(0, now() - newestAt);
  }
}

/** Announces a notice to the operator. */
export type Announce = (
  type: "backup.failed" | "backup.overdue" | "backup.recovered",
  data: { readonly summary: string; readonly advice: string | null },
) => void;

interface WatchOptions {
  readonly schedule: BackupSchedule | null;
  /** A monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
  readonly announce: Announce;
}

/** The time between two notices about the same ongoing failure. */
const repeatAfterMs = day;

const advice = "Find the reason in the log, remove it, and make a backup now: onair backup.";

/** Notifies the operator when backups fail, when the newest is too old, and when they succeed again. */
export class BackupWatch {
  readonly #options: WatchOptions;
  #failureNoticeAt: number | null = null;
  #overdueNoticeAt: number | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Reports each failure of a requested backup, and failures of scheduled backups once a day. */
  failed(reason: string, byHand: boolean): void {
    if (!byHand && this.#isRecent(this.#failureNoticeAt)) return;
    if (!byHand) this.#failureNoticeAt = this.#options.monotonic();
    this.#options.announce("backup.failed", { summary: `A backup failed. ${reason}`, advice });
  }

  /** Must be called when a backup is complete. */
  made(): void {
    if (this.#failureNoticeAt === null && this.#overdueNoticeAt === null) return;
    this.#failureNoticeAt = null;
    this.#overdueNoticeAt = null;
    this.#options.announce("backup.recovered", { summary: "There is a new backup again.", advice: null });
  }

  /**
   * Reports when the newest backup is too old.
   * @param newestAt when the newest backup began; null without one
   */
  check(newestAt: number | null): void {
    const { schedule, monotonic, announce } = this.#options;
    if (!schedule?.isOverdue(newestAt) || this.#isRecent(this.#overdueNoticeAt)) return;
    this.#overdueNoticeAt = monotonic();
    const age = shownDuration(schedule.ageOf(newestAt));
    const summary =
      newestAt === null ? `There has been no backup for ${age}.` : `The newest backup is ${age} old.`;
    announce("backup.overdue", { summary, advice });
  }

  #isRecent(at: number | null): boolean {
    return at !== null && this.#options.monotonic() - at < repeatAfterMs;
  }
}
