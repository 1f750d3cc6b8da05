/** The work of one kind that is in progress. */
export class InProgress {
  /** When each began, the oldest first. */
  readonly #begun = new Set<{ readonly at: number }>();

  /** @param now a clock that is never set */
  constructor(readonly now: () => number = performance.now.bind(performance)) {}

  /** Counts a promise as in progress since `at` until it settles. Returns the same promise. */
  add<Value>(work: Promise<Value>, at = this.now()): Promise<Value> {
    const one = { at };
    this.#begun.add(one);
    const end = () => void this.#begun.delete(one);
    work.then(end, end);
    return work;
  }

  /** For how long the oldest one has been in progress; 0 for none. */
  get oldestMs(): number {
    const [oldest] = this.#begun;
    return oldest ? this.now() - oldest.at : 0;
  }
}
