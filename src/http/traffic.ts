/** Upper bounds of the classes that durations are counted in, in seconds. */
export const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5] as const;

const lowestStatus = 100;
const statusCount = 500;
const durationsAt = statusCount;
const totalMsAt = durationsAt + durationBounds.length + 1;

/** The requests of one listener in one thread since its start; other threads may read them. */
export class Traffic {
  readonly #counts: Float64Array;

  /** Memory for it, which threads can share. */
  static memory(isShared = false): ArrayBufferLike {
    const bytes = 8 * (totalMsAt + 1);
    return isShared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
  }

  constructor(memory = Traffic.memory()) {
    this.#counts = new Float64Array(memory);
  }

  count(status: number, durationMs: number): void {
    const counts = this.#counts;
    let at = 0;
    while (durationMs > (durationBounds[at] ?? Number.POSITIVE_INFINITY) * 1000) at++;
    counts[status - lowestStatus] = (counts[status - lowestStatus] ?? 0) + 1;
    counts[durationsAt + at] = (counts[durationsAt + at] ?? 0) + 1;
    counts[totalMsAt] = (counts[totalMsAt] ?? 0) + durationMs;
  }

  /** What several threads have answered together. */
  static sum(all: readonly Traffic[]): Traffic {
    const sum = new Traffic();
    for (const one of all) {
      for (const [i, count] of one.#counts.entries()) sum.#counts[i] = (sum.#counts[i] ?? 0) + count;
    }
    return sum;
  }

  /** Answers by status. */
  get statuses(): Map<number, number> {
    const counted = [...this.#counts.subarray(0, statusCount).entries()].filter(([, count]) => count > 0);
    return new Map(counted.map(([i, count]) => [lowestStatus + i, count]));
  }

  /** Answers by duration: the last class is that beyond all bounds. */
  get durations(): readonly number[] {
    return [...this.#counts.subarray(durationsAt, totalMsAt)];
  }

  get requests(): number {
    return this.durations.reduce((sum, count) => sum + count, 0);
  }

  get totalMs(): number {
    return this.#counts[totalMsAt] ?? 0;
  }
}
