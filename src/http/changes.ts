/** Counts changes of something, so that what was made of it can be told to be older than the last one. */
export class Changes {
  #count = 0;

  /** To be called after a change is stored and before it is acknowledged. */
  note(): void {
    this.#count++;
  }

  /** How often `note` was called. */
  get count(): number {
    return this.#count;
  }
}
