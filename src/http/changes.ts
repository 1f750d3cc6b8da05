/** Counts changes, so that a cache can tell whether an entry is older than the last change. */
export class Changes {
  #count = 0;
  /** When what is cached must not be used any more, by `performance.now()`. */
  #usableUntil = Number.POSITIVE_INFINITY;

  /** Called after a change is stored and before it is acknowledged. */
  note(): void {
    this.#count++;
  }

  /** Everything that changed elsewhere was heard up to some moments ago: caches may be used until then. */
  useUntil(time: number): void {
    this.#usableUntil = time;
  }

  /** Whether it is known what changed elsewhere. */
  get isCurrent(): boolean {
    return this.#usableUntil === Number.POSITIVE_INFINITY || performance.now() <= this.#usableUntil;
  }

  /**
   * How often `note` was called. While it is not known what changed elsewhere, each call gives another number, so that no
   * cache entry counts as valid.
   */
  get count(): number {
    if (!this.isCurrent) this.#count++;
    return this.#count;
  }
}
