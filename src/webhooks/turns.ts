import { Fifo } from "./fifo.ts";

/** The event loop is held up for no longer than this at a time. */
const sliceMs = 1;

/**
 * Gives each of many its turn, one step at a time, so that a long backlog of one holds up no other, in slices, so that
 * they hold up nothing else. Those with something new have every second turn for themselves, however many others
 * there are.
 */
export class Turns<T> {
  /** In which of the two lines someone stands: that of those with something new, or the other. */
  readonly #standsInNew = new Map<T, boolean>();
  readonly #new = new Fifo<T>();
  readonly #old = new Fifo<T>();
  #isNewNext = true;
  #isScheduled = false;

  /**
   * @param options.step does one thing for one of them; false: it has nothing more to do until it is added again
   * @param options.isNew whether what it has to do is new
   * @param options.mayRun false: those with something new, or the others, wait until `resume`
   */
  constructor(
    readonly options: {
      readonly step: (one: T) => boolean;
      readonly isNew: (one: T) => boolean;
      readonly mayRun: (isNew: boolean) => boolean;
    },
  ) {}

  /** Gives it its turn behind those that wait already; once, however often it is added. */
  add(one: T): void {
    this.#put(one);
    this.resume();
  }

  /** To be called when `mayRun` may have become true. */
  resume(): void {
    if (this.#isScheduled || this.#standsInNew.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #put(one: T): void {
    const isNew = this.options.isNew(one);
    const stands = this.#standsInNew.get(one);
    if (stands === isNew || stands === true) return;
    // Its place in the other line, if it had one, is passed over.
    this.#standsInNew.set(one, isNew);
    (isNew ? this.#new : this.#old).push(one);
  }

  #run(): void {
    this.#isScheduled = false;
    const end = performance.now() + sliceMs;
    for (;;) {
      const one = this.#next();
      if (one === undefined) return;
      if (this.options.step(one)) this.#put(one);
      if (performance.now() >= end) {
        this.resume();
        return;
      }
    }
  }

  /** Takes out whose turn it is; undefined: nobody who may run. */
  #next(): T | undefined {
    this.#isNewNext = !this.#isNewNext;
    return this.#first(this.#isNewNext) ?? this.#first(!this.#isNewNext);
  }

  #first(isNew: boolean): T | undefined {
    const line = isNew ? this.#new : this.#old;
    if (line.length === 0 || !this.options.mayRun(isNew)) return undefined;
    for (let one = line.shift(); one !== undefined; one = line.shift()) {
      if (this.#standsInNew.get(one) !== isNew) continue;
      this.#standsInNew.delete(one);
      return one;
    }
    return undefined;
  }
}
