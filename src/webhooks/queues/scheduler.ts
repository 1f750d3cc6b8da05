/** The longest time in a row that the event loop is held. */
const sliceMs = 1;

/** What a scheduler runs. */
interface ScheduledWork<T> {
  /** Does one step for a queue; false: there is nothing more to do until the queue is added again. */
  readonly step: (queue: T) => boolean;
  /** Backpressure: while false, queues with new work (or the others) wait until `resume`. */
  readonly mayRun: (isNew: boolean) => boolean;
  /** Ends the work. */
  readonly signal: AbortSignal;
}

/**
 * Round-robin over queues, one step of each at a time, so that a long backlog of one delays no other; in time slices,
 * so that all of them do not delay the rest of the thread. Queues with new work have every second step, however many
 * others there are.
 */
export class Scheduler<T> {
  /** The queues that are pending, and whether each one is pending among those with new work. */
  readonly #pending = new Map<T, boolean>();
  readonly #new: T[] = [];
  readonly #others: T[] = [];
  #work: ScheduledWork<T> | null = null;
  #isNewNext = true;
  #isScheduled = false;

  /** @param isNew whether a queue has new work */
  constructor(readonly isNew: (queue: T) => boolean) {}

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

  /** Puts a queue behind those that are pending; a queue that is pending already keeps its place. */
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
    const isNew = this.isNew(queue);
    const pending = this.#pending.get(queue);
    if (pending === isNew || pending === true) return;
    // An older place among the others is passed over.
    this.#pending.set(queue, isNew);
    (isNew ? this.#new : this.#others).push(queue);
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
    this.#isNewNext = !this.#isNewNext;
    return this.#first(work, this.#isNewNext) ?? this.#first(work, !this.#isNewNext);
  }

  #first(work: ScheduledWork<T>, isNew: boolean): T | undefined {
    const queues = isNew ? this.#new : this.#others;
    if (queues.length === 0 || !work.mayRun(isNew)) return undefined;
    for (let queue = queues.shift(); queue !== undefined; queue = queues.shift()) {
      if (this.#pending.get(queue) !== isNew) continue;
      this.#pending.delete(queue);
      return queue;
    }
    return undefined;
  }
}
