/** Ten requests that are answered from memory: nobody notices that they waited for so long. */
const sliceMs = 0.2;

/**
 * What work of many small steps takes of a thread before everybody else has a turn of the event loop:
 * `if (slice.isOver) await slice.next()`.
 */
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
