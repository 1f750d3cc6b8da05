/** A stretch of time, in milliseconds of `performance.now()`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** One write of a value. */
export interface Write<T> {
  readonly value: T;
  /** When its request began. */
  readonly startedAt: number;
  /** When its answer was there; Infinity before that. */
  ackedAt: number;
}

/** All that was ever written to one key, and so what a reader may see of it. Writes may overlap. */
export class Register<T> {
  readonly #writes: Write<T>[];

  constructor(initial: T) {
    const ever = Number.NEGATIVE_INFINITY;
    this.#writes = [{ value: initial, startedAt: ever, ackedAt: ever }];
  }

  /** Notes that a write begins; its answer is noted in what this gives. */
  begin(value: T): Write<T> {
    const write = { value, startedAt: performance.now(), ackedAt: Number.POSITIVE_INFINITY };
    this.#writes.push(write);
    return write;
  }

  /**
   * What an answer may show whose request was under way for so long: nothing that began only afterwards, and nothing
   * behind which another write was begun and acknowledged before the request, or `behindMs` before it.
   */
  possible({ from, to }: Span, behindMs = 0): Write<T>[] {
    const overwritten = this.#writes
      .filter(({ ackedAt }) => ackedAt < from - behindMs)
      .reduce((latest, { startedAt }) => Math.max(latest, startedAt), Number.NEGATIVE_INFINITY);
    return this.#writes.filter(({ startedAt, ackedAt }) => startedAt <= to && ackedAt >= overwritten);
  }

  /** When this value may have been there: from its beginning until one that followed it was acknowledged. */
  lifetime(write: Write<T>): Span {
    const next = this.#writes
      .filter(({ startedAt }) => startedAt > write.ackedAt)
      .reduce((earliest, { ackedAt }) => Math.min(earliest, ackedAt), Number.POSITIVE_INFINITY);
    return { from: write.startedAt, to: next };
  }
}

/**
 * Whether there was one moment within the span at which all of these were there together: of each, one of its lifetimes
 * holds that moment.
 */
export function haveOneMoment({ from, to }: Span, lifetimes: readonly (readonly Span[])[]): boolean {
  const starts = lifetimes.flat().map((life) => life.from);
  const moments = [from, ...starts.filter((start) => start > from && start <= to)];
  return moments.some((moment) =>
    lifetimes.every((lives) => lives.some((life) => life.from <= moment && moment <= life.to)),
  );
}
