import type { DueDelivery } from "../domain/deliveries.ts";
import { hour } from "../domain/time.ts";
import type { Timers } from "../runtime/event-loop.ts";

/** The longest timer. A longer time would overflow. Waking up early does no harm. */
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
const priorities = ["new", "bulk", "backlog"] as const;
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
  /** Ends the run when it is aborted. */
  readonly signal: AbortSignal;
}

/**
 * Runs queues round-robin, one step of each, so that a long queue does not delay others. It works in time slices, so
 * that the rest of the thread is not delayed either. The priorities take turns: between two steps of one priority there
 * is at most one step of each other priority, however many queues that has.
 */
export class Scheduler<T> {
  /** The pending queues, each with its priority. */
  readonly #pending = new Map<T, Priority>();
  /** May also have entries of queues that became pending with a higher priority; such entries are skipped. */
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

  /** Schedules a queue behind the others. If it is pending already, only a higher priority changes its position. */
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

/** When first attempts and retries wait, a retry starts after this many first attempts. */
const firstsPerRetry = 3;

/**
 * The deliveries to one endpoint that wait in memory. First attempts keep their order. They do not wait for all retries
 * that are due, which may be thousands after an outage: when first attempts and retries wait, every fourth delivery is
 * a retry.
 */
export class DeliveryQueue {
  #firsts: DueDelivery[] = [];
  #retries: DueDelivery[] = [];
  #firstsInARow = 0;
  /** The number of first attempts up to the last attempt that belongs to a bulk, inclusive. */
  #upToBulk = 0;

  get length(): number {
    return this.#firsts.length + this.#retries.length;
  }

  get firsts(): number {
    return this.#firsts.length;
  }

  get retries(): number {
    return this.#retries.length;
  }

  /** Whether a first attempt that belongs to a bulk waits. */
  get hasBulk(): boolean {
    return this.#upToBulk > 0;
  }

  push(delivery: DueDelivery, isBulk = false): void {
    const isFirst = delivery.attempts === 0;
    (isFirst ? this.#firsts : this.#retries).push(delivery);
    if (isFirst && isBulk) this.#upToBulk = this.#firsts.length;
  }

  /** Removes and returns the next delivery. */
  shift(): DueDelivery | undefined {
    const isRetryDue = this.#firstsInARow >= firstsPerRetry && this.#retries.length > 0;
    if (this.#firsts.length === 0 || isRetryDue) {
      this.#firstsInARow = 0;
      return this.#retries.shift();
    }
    this.#firstsInARow++;
    this.#upToBulk = Math.max(0, this.#upToBulk - 1);
    return this.#firsts.shift();
  }

  /** Removes and returns all deliveries, first attempts first. */
  clear(): DueDelivery[] {
    const all = [...this.#firsts, ...this.#retries];
    this.#firsts = [];
    this.#retries = [];
    this.#upToBulk = 0;
    return all;
  }

  /** Replaces each delivery by the result of `change`, which must not change the number of attempts. */
  change(change: (delivery: DueDelivery) => DueDelivery): void {
    this.#firsts = this.#firsts.map(change);
    this.#retries = this.#retries.map(change);
  }
}

type Slot = Pick<DueDelivery, "seq">;

/** Slots for new deliveries. */
const maxNew = 14_336;
/** The slots for new deliveries that large queues may use. The rest is reserved for small queues. */
const maxNewOfLarge = 12_288;
/** Slots for deliveries claimed from backlogs. New and claimed deliveries do not take memory from each other. */
const maxClaimed = 2_048;

/** The memory for queued deliveries, counted in slots, and the queues that wait for free slots in order to claim. */
export class MemoryCapacity<T> {
  #new = 0;
  #reserved = 0;
  /** The claimed deliveries in memory, by `seq`. */
  readonly #claimed = new Set<number>();
  /** Queues that wait to claim from their backlog, in the order of their requests. */
  readonly #waiting = new Set<T>();
  /** Queues that wait to claim new deliveries. */
  readonly #newWaiting = new Set<T>();

  /** @param freed called with a queue that should try to claim again */
  constructor(readonly freed: (queue: T) => void) {}

  get queued(): number {
    return this.#new + this.#claimed.size;
  }

  /** Reserves a slot for a delivery that is being published. Returns false if no slot is free. */
  reserve(isSmall: boolean): boolean {
    if (this.#new + this.#reserved >= (isSmall ? maxNew : maxNewOfLarge)) return false;
    this.#reserved++;
    return true;
  }

  /**
   * Whether a queue may claim deliveries from the store. If not, `freed` is called with the queue when slots are free.
   */
  canClaim(queue: T, isNew: boolean): boolean {
    if (isNew ? this.#new < maxNew : this.#claimed.size < maxClaimed) return true;
    (isNew ? this.#newWaiting : this.#waiting).add(queue);
    return false;
  }

  /** Ends reservations. `used` of them became deliveries in memory. */
  use(reserved: number, used: number): void {
    this.#reserved -= reserved;
    this.#new += used;
  }

  /** Counts deliveries that were claimed, or that return unsent to their queue. */
  add(deliveries: readonly Slot[], isNew: boolean): void {
    if (isNew) this.#new += deliveries.length;
    else for (const { seq } of deliveries) this.#claimed.add(seq);
  }

  /** Frees the slots of deliveries that have started or return to the store. */
  free(deliveries: readonly Slot[]): void {
    for (const { seq } of deliveries) if (!this.#claimed.delete(seq)) this.#new--;
    if (this.#new < maxNew) this.#wakeFirst(this.#newWaiting, deliveries.length);
    if (this.#claimed.size < maxClaimed) this.#wakeFirst(this.#waiting, deliveries.length);
  }

  /** Wakes one queue for each freed slot, because some may have nothing to claim any more. */
  #wakeFirst(waiting: Set<T>, count: number): void {
    if (waiting.size === 0) return;
    for (const queue of [...waiting.values().take(count)]) {
      waiting.delete(queue);
      this.freed(queue);
    }
  }
}
