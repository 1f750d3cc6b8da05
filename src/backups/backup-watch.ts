import { day, shownDuration } from "../domain/time.ts";
import type { BackupSchedule } from "./schedule.ts";

/** Announces a notice to the operator. */
export type Announce = (
  type: "backup.failed" | "backup.overdue" | "backup.recovered",
  data: { readonly summary: string; readonly advice: string | null },
) => void;

interface WatchOptions {
  readonly schedule: BackupSchedule | null;
  /** A clock that is never set. */
  readonly monotonic: () => number;
  readonly announce: Announce;
}

/** The time between two notices about the same ongoing failure. */
const repeatAfterMs = day;

const advice = "Look into the log, mend it, and make a backup now: onair backup.";

/** Notices about backups for the operator: they fail, the newest is too old, they succeed again. */
export class BackupWatch {
  readonly #options: WatchOptions;
  #failureNoticeAt: number | null = null;
  #overdueNoticeAt: number | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** A failed backup that was requested is reported each time, a failed scheduled one once a day. */
  failed(reason: string, byHand: boolean): void {
    if (!byHand && this.#isRecent(this.#failureNoticeAt)) return;
    if (!byHand) this.#failureNoticeAt = this.#options.monotonic();
    this.#options.announce("backup.failed", { summary: `A backup failed. ${reason}`, advice });
  }

  /** A backup is complete. */
  made(): void {
    if (this.#failureNoticeAt === null && this.#overdueNoticeAt === null) return;
    this.#failureNoticeAt = null;
    this.#overdueNoticeAt = null;
    this.#options.announce("backup.recovered", { summary: "There is a new backup again.", advice: null });
  }

  /** @param newestAt when the newest backup began; null without one */
  look(newestAt: number | null): void {
    const { schedule, monotonic, announce } = this.#options;
    if (!schedule?.isOverdue(newestAt) || this.#isRecent(this.#overdueNoticeAt)) return;
    this.#overdueNoticeAt = monotonic();
    const age = shownDuration(schedule.ageOf(newestAt));
    const summary = newestAt === null ? `For ${age} there is no backup.` : `The newest backup is ${age} old.`;
    announce("backup.overdue", { summary, advice });
  }

  #isRecent(at: number | null): boolean {
    return at !== null && this.#options.monotonic() - at < repeatAfterMs;
  }
}
