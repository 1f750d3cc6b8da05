import { hour } from "../domain/time.ts";
import type { Timers } from "../runtime/timers.ts";

/** The longest timer: a longer one would overflow. Waking up early does no harm. */
const maxTimerMs = hour;

/** At most one timer for each queue, which wakes it. */
export class Alarms<T> {
  /** Cancels the timer of a queue. */
  readonly #cancels = new Map<T, () => void>();

  constructor(
    readonly wake: (queue: T) => void,
    readonly timers: Timers,
  ) {}

  /** Wakes a queue after `inMs`, in place of an earlier alarm. Sets none for a time that has passed. */
  set(queue: T, inMs: number): void {
    this.clear(queue);
    if (inMs <= 0) return;
    const ring = (): void => {
      this.#cancels.delete(queue);
      this.wake(queue);
    };
    this.#cancels.set(queue, this.timers.after(Math.min(inMs, maxTimerMs), ring));
  }

  clear(queue: T): void {
    this.#cancels.get(queue)?.();
    this.#cancels.delete(queue);
  }

  clearAll(): void {
    for (const queue of this.#cancels.keys()) this.clear(queue);
  }
}

/** The longest time for which the event loop is blocked at once. */
const sliceMs = 1;

/** The priorities, the most urgent first. */
export const priorities = ["new", "bulk", "backlog"] as const;
export type Priority = (typeof priorities)[number];
const rank: Readonly<Record<Priority, number>> = { new: 0, bulk: 1, backlog: 2 };
/** Skipped entries that are kept even while nothing is pending, so that short arrays are not copied. */
const fewSkipped = 64;

/** The work that a scheduler runs. */
interface ScheduledWork<T> {
  /** Does one step for a queue. Returns false if the queue has nothing to do until it is added again. */
  readonly step: (queue: T) => boolean;
  /** Backpressure: while this returns false, queues of the priority wait for `resume`. */
  readonly mayRun: (priority: Priority) => boolean;
  /** Ends the work. */
  readonly signal: AbortSignal;
}

/**
 * Runs queues round-robin, one step of each, so that a long queue does not delay others. It works in time slices, so
 * that the rest of the thread is not delayed either. The priorities take turns: between two steps of one priority there
 * is at most one step of each other, however many queues these have.
 */
export class Scheduler<T> {
  /** The pending queues, each with its priority. */
  readonly #pending = new Map<T, Priority>();
  /** May also have entries of queues that became pending with a higher priority; these are skipped. */
  readonly #queues: Record<Priority, T[]> = { new: [], bulk: [], backlog: [] };
  #work: ScheduledWork<T> | null = null;
  /** The index of the priority whose turn it is. */
  #turn = 0;
  #isScheduled = false;

  /** @param monotonic a clock that is never set */
  constructor(
    readonly priorityOf: (queue: T) => Priority,
    readonly monotonic: () => number = () => performance.now(),
  ) {}

  /** Whether a queue is scheduled for a step. */
  isPending(queue: T): boolean {
    return this.#pending.has(queue);
  }

  /** Begins to run the pending queues. */
  start(work: ScheduledWork<T>): void {
    this.#work = work;
    this.resume();
  }

  get isRunning(): boolean {
    return this.#work !== null && !this.#work.signal.aborted;
  }

  /** Whether it has been started and its work has ended. */
  get hasEnded(): boolean {
    return this.#work?.signal.aborted === true;
  }

  /**
   * Schedules a queue behind the pending ones. If it is pending already, only a higher priority changes its position.
   */
  add(queue: T): void {
    this.#put(queue);
    this.resume();
  }

  /** Runs pending queues soon. To be called when `mayRun` may have become true. */
  resume(): void {
    if (this.#isScheduled || this.#pending.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#runSlice());
  }

  #put(queue: T): void {
    const priority = this.priorityOf(queue);
    const pending = this.#pending.get(queue);
    if (pending !== undefined && rank[pending] <= rank[priority]) return;
    this.#pending.set(queue, priority);
    this.#queues[priority].push(queue);
    if (pending !== undefined) this.#removeSkipped(pending);
  }

  /**
   * Removes the entries to skip once they are the larger part, because a priority that may not run never skips them.
   */
  #removeSkipped(priority: Priority): void {
    const queues = this.#queues[priority];
    if (queues.length <= 2 * this.#pending.size + fewSkipped) return;
    const pending = queues.filter((queue) => this.#pending.get(queue) === priority);
    this.#queues[priority] = [...new Set(pending)];
  }

  #runSlice(): void {
    this.#isScheduled = false;
    const work = this.#work;
    if (work === null) return;
    const end = this.monotonic() + sliceMs;
    for (;;) {
      const queue = this.#next(work);
      if (queue === undefined) return;
      if (work.step(queue)) this.#put(queue);
      if (this.monotonic() >= end) {
        this.resume();
        return;
      }
    }
  }

  /** Removes and returns the next queue that may run. */
  #next(work: ScheduledWork<T>): T | undefined {
    if (work.signal.aborted) return undefined;
    for (const _ of priorities) {
      const queue = this.#first(work, priorities[this.#turn] as Priority);
      this.#turn = (this.#turn + 1) % priorities.length;
      if (queue !== undefined) return queue;
    }
    return undefined;
  }

  #first(work: ScheduledWork<T>, priority: Priority): T | undefined {
    const queues = this.#queues[priority];
    if (queues.length === 0 || !work.mayRun(priority)) return undefined;
    for (let queue = queues.shift(); queue !== undefined; queue = queues.shift()) {
      if (this.#pending.get(queue) !== priority) continue;
      this.#pending.delete(queue);
      return queue;
    }
    return undefined;
  }
}
