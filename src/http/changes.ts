/** Counts changes, so that a cache can tell whether an entry is older than the last change. */
export class Changes {
  #count = 0;

  /** Called after a change is stored and before it is acknowledged. */
  note(): void {
    this.#count++;
  }

  /** How often `note` was called. */
  get count(): number {
    return this.#count;
  }
}
