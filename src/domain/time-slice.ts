/** About the time of ten requests that are answered from memory. */
const sliceMs = 0.2;

/** Limits how long work of many small steps blocks the event loop: `if (slice.isOver) await slice.next()`. */
export class TimeSlice {
  #began = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#began >= sliceMs;
  }

  async next(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#began = performance.now();
  }
}
