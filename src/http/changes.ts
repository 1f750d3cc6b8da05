/** Ids that share a slot are taken for changed together, which only costs reading some of them again. */
const slots = 2 ** 16;

/**
 * Counts changes of something, in all and by id. Whoever keeps what was read asks whether its count is still the same
 * before using it; whoever changes it notes that after the change is stored and before it is acknowledged. In memory
 * that threads share this holds for all of them at once, without a message.
 */
export class Changes {
  static readonly bytes = 4 * (1 + slots);
  readonly #counts: Int32Array;

  constructor(memory: ArrayBufferLike = new ArrayBuffer(Changes.bytes)) {
    this.#counts = new Int32Array(memory);
  }

  /** `ids` have changed; without them, whatever there is. */
  note(ids: readonly number[] = []): void {
    // First, so that nobody who reads the count of an id as it is now finds this one as it was before.
    Atomics.add(this.#counts, 0, 1);
    for (const id of ids) Atomics.add(this.#counts, slotOf(id), 1);
  }

  /** How often `note` was called. */
  get count(): number {
    return Atomics.load(this.#counts, 0);
  }

  /** How often an id, or one that shares its slot, has changed. */
  of(id: number): number {
    return Atomics.load(this.#counts, slotOf(id));
  }
}

/** The lowest 16 bits: for numbers beyond 32 bits `%` would take longer than all the rest. */
const slotOf = (id: number) => 1 + (id & (slots - 1));
