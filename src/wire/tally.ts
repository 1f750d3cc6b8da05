/** Why a connection was not let in: all places are taken, or all that one client may have. */
export const refusals = ["limit", "client"] as const;
export type Refusal = (typeof refusals)[number];

/**
 * Why one was cut off: its client takes its answers too slowly, or it held the most when all of them held too much; or
 * ended while it was idle: places or descriptors ran short.
 */
export const cuts = ["slow", "memory", "idle"] as const;
export type Cut = (typeof cuts)[number];

/** Who keeps count of all connections of a server. */
export interface Accounts {
  /** A connection holds so many bytes more, or fewer. Closes nothing at once. */
  hold(bytes: number): void;
  cut(why: Cut): void;
}

/** Where nobody does. */
export const uncounted: Accounts = { hold() {}, cut() {} };

const openAt = 0;
const heldAt = 1;
const refusedAt = 2;
const cutAt = refusedAt + refusals.length;
const length = cutAt + cuts.length;

/** The connections of one server in one thread; other threads may read it. */
export class Tally {
  readonly #numbers: Float64Array;

  /** Memory for it, which threads can share. */
  static memory(isShared = false): ArrayBufferLike {
    return isShared ? new SharedArrayBuffer(8 * length) : new ArrayBuffer(8 * length);
  }

  constructor(memory = Tally.memory()) {
    this.#numbers = new Float64Array(memory);
  }

  /** Connections that are open, without those that were refused. */
  get open(): number {
    return this.#numbers[openAt] ?? 0;
  }
  set open(count: number) {
    this.#numbers[openAt] = count;
  }

  /** Bytes that connections hold: what clients sent ahead, and what they have yet to take. */
  get heldBytes(): number {
    return this.#numbers[heldAt] ?? 0;
  }
  set heldBytes(bytes: number) {
    this.#numbers[heldAt] = bytes;
  }

  refused(why: Refusal): void {
    this.#count(refusedAt + refusals.indexOf(why));
  }

  cut(why: Cut): void {
    this.#count(cutAt + cuts.indexOf(why));
  }

  /** Connections since the start that were refused, by reason. */
  get refusals(): Readonly<Record<Refusal, number>> {
    const [limit = 0, client = 0] = this.#numbers.subarray(refusedAt, cutAt);
    return { limit, client };
  }

  /** Connections since the start that were cut off, by reason. */
  get cuts(): Readonly<Record<Cut, number>> {
    const [slow = 0, memory = 0, idle = 0] = this.#numbers.subarray(cutAt);
    return { slow, memory, idle };
  }

  /** What several threads have together. */
  static sum(all: readonly Tally[]): Tally {
    const sum = new Tally();
    for (const one of all) {
      for (const [i, number] of one.#numbers.entries()) sum.#numbers[i] = (sum.#numbers[i] ?? 0) + number;
    }
    return sum;
  }

  #count(at: number): void {
    this.#numbers[at] = (this.#numbers[at] ?? 0) + 1;
  }
}
