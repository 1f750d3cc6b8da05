import { second } from "./domain/time.ts";
import type { CheckStorage } from "./engine/engine.ts";
import type { Log } from "./log.ts";
import type { StorageFault } from "./store/faults.ts";

const checkEveryMs = 5 * second;
const checkAgainMs = second;

/** A check that takes longer goes on, but nothing waits for it. */
const checkAtMostMs = second;

const messages: Readonly<Record<StorageFault, string>> = {
  full: "The disk of the data directory is full: nothing can be written",
  failing: "The disk of the data directory fails",
  damaged: "The database is damaged: stop the server and restore a backup",
  replaced: "The file of the database was removed or replaced while it is served: start the server again",
};

/** What only another start can mend. */
const lasting: ReadonlySet<StorageFault | null> = new Set<StorageFault>(["damaged", "replaced"]);

/**
 * Knows whether the storage can be used: by what every part of the server reports with `note`, and by a look at it now
 * and then. The log has one line when that changes.
 */
export class StorageWatch {
  #fault: StorageFault | null = null;
  #check: CheckStorage | null = null;
  #checking: Promise<void> | null = null;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Why the storage cannot be used; null when it can. */
  get problem(): string | null {
    return this.#fault && messages[this.#fault];
  }

  /** Takes what was found by a read or a write. */
  readonly note = (fault: StorageFault): void => {
    if (this.#fault === fault || lasting.has(this.#fault)) return;
    if (this.#fault !== null && !lasting.has(fault)) return;
    this.#fault = fault;
    this.#tell();
  };

  /** Begins to look by itself, and to log: a start that fails says why without that. */
  start(check: CheckStorage): void {
    this.#check = check;
    this.#tell();
  }

  #tell(): void {
    if (this.#check === null) return;
    if (this.#fault !== null) this.#log.error(`storage_${this.#fault}`, { message: messages[this.#fault] });
    this.#schedule();
  }

  stop(): void {
    this.#check = null;
    clearTimeout(this.#timer);
  }

  /** Looks now, unless that was done within the last second. */
  async look(): Promise<void> {
    const check = this.#check;
    if (check === null || performance.now() - this.#checkedAt < checkAgainMs) return;
    this.#checking ??= this.#lookBy(check).finally(() => {
      this.#checking = null;
    });
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, checkAtMostMs);
    await Promise.race([this.#checking, late.promise]);
    clearTimeout(timer);
  }

  async #lookBy(check: CheckStorage): Promise<void> {
    const before = this.#fault;
    // A server that is stopping closes the storage under it.
    const found = await check(before !== null).catch(() => before);
    this.#checkedAt = performance.now();
    if (found !== null) return this.note(found);
    if (before === null || lasting.has(this.#fault)) return;
    this.#fault = null;
    this.#log.warn("storage_recovered", { after: before, message: "The storage can be written again" });
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#check === null) return;
    const next = () => this.look().finally(() => this.#schedule());
    this.#timer = setTimeout(next, this.#fault === null ? checkEveryMs : checkAgainMs).unref();
  }
}
