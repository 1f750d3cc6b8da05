import { day, shownDuration } from "../domain/time.ts";
import type { BackupSchedule } from "./schedule.ts";

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

  /** Reports each failure of a requested backup, and failures of scheduled ones once a day. */
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
  look(newestAt: number | null): void {
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
