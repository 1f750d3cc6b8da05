/** The event loop is held up for no longer than this at a time. */
const sliceMs = 4;

/**
 * Gives each of many its turn, one step at a time, so that a long backlog of one holds up no other, in slices, so that
 * they hold up nothing else.
 */
export class Turns<T> {
  /** In the order of their turns: what is added goes to the end. */
  readonly #waiting = new Set<T>();
  #isScheduled = false;

  /**
   * @param step does one thing for one of them; false: it has nothing more to do until it is added again
   * @param mayRun false: everybody waits until `resume`
   */
  constructor(
    readonly step: (one: T) => boolean,
    readonly mayRun: () => boolean,
  ) {}

  /** Gives it its turn behind those that wait already; once, however often it is added. */
  add(one: T): void {
    this.#waiting.add(one);
    this.resume();
  }

  /** To be called when `mayRun` may have become true. */
  resume(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const end = performance.now() + sliceMs;
    // A Set gives what is added while it is walked through, so this goes on until all are done.
    for (const one of this.#waiting) {
      if (!this.mayRun()) return;
      if (performance.now() >= end) {
        this.resume();
        return;
      }
      this.#waiting.delete(one);
      if (this.step(one)) this.#waiting.add(one);
    }
  }
}
