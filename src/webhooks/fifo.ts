/** First in, first out, in constant time however long it is. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (this.#head === this.#items.length) return undefined;
    this.#head++;
    // What has gone is let go of now and then, in pieces that make it cheap.
    if (this.#head >= 256 && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** All of it, in order. */
  items(): T[] {
    return this.#items.slice(this.#head);
  }

  /** Puts these in place of all. */
  replace(items: readonly T[]): void {
    this.#items = [...items];
    this.#head = 0;
  }
}
