/** Counts changes, so that a cache can tell whether an entry is older than the last change. */
export class Changes {
  #count = 0;
  /** The time until which cached data may be used, by `performance.now()`. */
  #usableUntil = Number.POSITIVE_INFINITY;

  /** Called after a change is stored and before it is acknowledged. */
  note(): void {
    this.#count++;
  }

  /** Allows caches to be used until `time`. Called regularly while notifications of other replicas arrive. */
  useUntil(time: number): void {
    this.#usableUntil = time;
  }

  /** Whether the changes of other replicas are known. */
  get isCurrent(): boolean {
    return this.#usableUntil === Number.POSITIVE_INFINITY || performance.now() <= this.#usableUntil;
  }

  /**
   * The number of calls of `note`. While the changes of other replicas are not known, it differs on each call, so that
   * no cache entry is valid.
   */
  get count(): number {
    if (!this.isCurrent) this.#count++;
    return this.#count;
  }
}
