/** The longest time in a row that the event loop is held. */
const sliceMs = 1;

/** The kinds of work, the most urgent first. */
export const priorities = ["new", "bulk", "backlog"] as const;
export type Priority = (typeof priorities)[number];

/** What a scheduler runs. */
interface ScheduledWork<T> {
  /** Does one step for a queue; false: there is nothing more to do until the queue is added again. */
  readonly step: (queue: T) => boolean;
  /** Backpressure: while false, queues of this priority wait until `resume`. */
  readonly mayRun: (priority: Priority) => boolean;
  /** Ends the work. */
  readonly signal: AbortSignal;
}

/**
 * Round-robin over queues, one step of each at a time, so that a long backlog of one delays no other; in time slices,
 * so that all of them do not delay the rest of the thread. The priorities take turns, so that a queue waits for no more
 * than two steps for each queue of its own priority, however many there are of the others.
 */
export class Scheduler<T> {
  /** The queues that are pending, and the priority with which each one is. */
  readonly #pending = new Map<T, Priority>();
  readonly #queues: Readonly<Record<Priority, T[]>> = { new: [], bulk: [], backlog: [] };
  #work: ScheduledWork<T> | null = null;
  /** Of `priorities`, whose turn it is. */
  #turn = 0;
  #isScheduled = false;

  constructor(readonly priorityOf: (queue: T) => Priority) {}

  /** Whether a queue waits for its next step. */
  isPending(queue: T): boolean {
    return this.#pending.has(queue);
  }

  /** Begins to run what is pending. */
  start(work: ScheduledWork<T>): void {
    this.#work = work;
    this.resume();
  }

  get isRunning(): boolean {
    return this.#work !== null && !this.#work.signal.aborted;
  }

  /** Whether it has run, and does so no more. */
  get hasEnded(): boolean {
    return this.#work?.signal.aborted === true;
  }

  /** Puts a queue behind those that are pending; a queue that is pending already keeps its place, or gets a better one. */
  add(queue: T): void {
    this.#put(queue);
    this.resume();
  }

  /** To be called when `mayRun` may have become true. */
  resume(): void {
    if (this.#isScheduled || this.#pending.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#runSlice());
  }

  #put(queue: T): void {
    const priority = this.priorityOf(queue);
    const pending = this.#pending.get(queue);
    if (pending !== undefined && priorities.indexOf(pending) <= priorities.indexOf(priority)) return;
    // A place of a lower priority is passed over.
    this.#pending.set(queue, priority);
    this.#queues[priority].push(queue);
  }

  #runSlice(): void {
    this.#isScheduled = false;
    const work = this.#work;
    if (work === null) return;
    const end = performance.now() + sliceMs;
    for (;;) {
      const queue = this.#next(work);
      if (queue === undefined) return;
      if (work.step(queue)) this.#put(queue);
      if (performance.now() >= end) {
        this.resume();
        return;
      }
    }
  }

  /** Takes out the next queue that may run. */
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
