import { hour, minute } from "../domain/time.ts";

interface ScheduleOptions {
  readonly everyMs: number;
  readonly now: () => number;
  /** A clock that is never set. */
  readonly monotonic: () => number;
}

/** A newest backup that is later than this was made while the clock was ahead. */
const toleranceMs = minute;
const longestRetryMs = hour;

/**
 * When the next backup is due: once in each period of the wall clock, so that restarts neither move nor repeat it, and a
 * missed one is made up for. What a clock that is set cannot fool is a second rule by elapsed time: no backup comes before
 * half a period has passed since the last, and none later than a whole one.
 */
export class BackupSchedule {
  readonly #options: ScheduleOptions;
  readonly #startedAt: number;
  /** Of the monotonic clock. */
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

  /** A backup is complete, scheduled or requested. */
  made(): void {
    this.#madeAt = this.#options.monotonic();
    this.#failures = 0;
    this.#retryAt = Number.NEGATIVE_INFINITY;
  }

  /** One came to nothing: the next is due after one minute, two, four and so on, up to an hour. */
  failed(): void {
    const pauseMs = Math.min(this.#options.everyMs, longestRetryMs, minute * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#retryAt = this.#options.monotonic() + pauseMs;
  }

  /** Whether there is no backup within two periods. */
  isOverdue(newestAt: number | null): boolean {
    return this.ageOf(newestAt) > 2 * this.#options.everyMs;
  }

  /** The age of the newest backup in milliseconds, or for how long none is known. */
  ageOf(newestAt: number | null): number {
    const { now, monotonic } = this.#options;
    // What this process made itself has an age that no clock can change.
    if (this.#madeAt !== null) return monotonic() - this.#madeAt;
    const elapsedMs = monotonic() - this.#startedAt;
    return newestAt === null ? elapsedMs : Math.max(now() - newestAt, elapsedMs);
  }

  /** The latest moment of the monotonic clock for the next backup. */
  #latest(newestAt: number): number {
    const { everyMs, now, monotonic } = this.#options;
    if (this.#madeAt !== null) return this.#madeAt + everyMs;
    // The age of a backup of the future is not known.
    if (newestAt > now() + toleranceMs) return this.#startedAt + Math.min(everyMs, longestRetryMs);
    return monotonic() + everyMs - Math.max(0, now() - newestAt);
  }
}
