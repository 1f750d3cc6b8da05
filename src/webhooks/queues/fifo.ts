/** First in, first out, in constant time however long it is. */
export class Fifo<T> {
  /** Items that were taken out are replaced by undefined, so that they can be collected. */
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    // The array is cut in large pieces, which keeps the cost of an item constant.
    if (this.#head === this.#items.length) this.replace([]);
    else if (this.#head >= 256 && this.#head * 2 >= this.#items.length) this.replace(this.items());
    return item;
  }

  /** All items, in order. */
  items(): T[] {
    return this.#items.slice(this.#head) as T[];
  }

  /** Puts these items in place of all. */
  replace(items: readonly T[]): void {
    this.#items = [...items];
    this.#head = 0;
  }
}
