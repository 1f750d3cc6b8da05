/** The most deliveries in memory that have not started. */
const maxQueued = 16_384;
/** Claims stop at this number, so that capacity is left for what is published. */
const maxClaimed = 2_048;

/** The capacity in memory for deliveries that have not started, and the queues that wait for some of it to claim. */
export class MemoryCapacity<T> {
  #queued = 0;
  #reserved = 0;
  /** In the order in which they asked. */
  readonly #waiting = new Set<T>();

  /** @param freed called with the queue that may ask again */
  constructor(readonly freed: (queue: T) => void) {}

  get queued(): number {
    return this.#queued;
  }

  /** Reserves a place for a delivery that is being published; false when there is none. */
  reserve(): boolean {
    if (this.#queued + this.#reserved >= maxQueued) return false;
    this.#reserved++;
    return true;
  }

  /** Ends reservations, of which `used` became deliveries in memory. */
  use(reserved: number, used: number): void {
    this.#reserved -= reserved;
    this.#queued += used;
  }

  /** Whether deliveries may be claimed from the store; if not, `freed` is called with the queue when they may. */
  canClaim(queue: T): boolean {
    if (this.#queued < maxClaimed) return true;
    this.#waiting.add(queue);
    return false;
  }

  claimed(count: number): void {
    this.#queued += count;
  }

  /** Frees the places of deliveries that have started or went back into the store. */
  free(count: number): void {
    this.#queued -= count;
    if (this.#queued >= maxClaimed || this.#waiting.size === 0) return;
    // As many as places, because one that waited may have nothing to claim any more, and then frees none.
    for (const queue of [...this.#waiting.values().take(count)]) {
      this.#waiting.delete(queue);
      this.freed(queue);
    }
  }
}
