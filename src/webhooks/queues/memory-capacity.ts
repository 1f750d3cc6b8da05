/** The most deliveries in memory that have not started. */
const maxQueued = 16_384;
/** The last places are for endpoints that have little, however much is published to others. */
const maxOfOthers = 14_336;
/** Claims of a backlog stop at this number, so that capacity is left for what is published. */
const maxClaimed = 2_048;

/** The capacity in memory for deliveries that have not started, and the queues that wait for some of it to claim. */
export class MemoryCapacity<T> {
  #queued = 0;
  #reserved = 0;
  /** In the order in which they asked. */
  readonly #waiting = new Set<T>();
  /** Those with new deliveries, which wait only where memory is full. */
  readonly #newWaiting = new Set<T>();

  /** @param freed called with the queue that may ask again */
  constructor(readonly freed: (queue: T) => void) {}

  get queued(): number {
    return this.#queued;
  }

  /** Reserves a place for a delivery that is being published; false when there is none. */
  reserve(hasLittle: boolean): boolean {
    if (this.#queued + this.#reserved >= (hasLittle ? maxQueued : maxOfOthers)) return false;
    this.#reserved++;
    return true;
  }

  /** Whether deliveries may be claimed from the store; if not, `freed` is called with the queue when they may. */
  canClaim(queue: T, isNew: boolean): boolean {
    if (this.#queued < (isNew ? maxQueued : maxClaimed)) return true;
    (isNew ? this.#newWaiting : this.#waiting).add(queue);
    return false;
  }

  /** Ends reservations, of which `used` became deliveries in memory. */
  use(reserved: number, used: number): void {
    this.#reserved -= reserved;
    this.#queued += used;
  }

  /** Deliveries that were claimed, or had started, are in memory. */
  add(count: number): void {
    this.#queued += count;
  }

  /** Frees the places of deliveries that have started or went back into the store. */
  free(count: number): void {
    this.#queued -= count;
    if (this.#queued < maxQueued) this.#wakeFirst(this.#newWaiting, count);
    if (this.#queued < maxClaimed) this.#wakeFirst(this.#waiting, count);
  }

  /** As many as places, because one that waited may have nothing to claim any more, and then frees none. */
  #wakeFirst(waiting: Set<T>, count: number): void {
    if (waiting.size === 0) return;
    for (const queue of [...waiting.values().take(count)]) {
      waiting.delete(queue);
      this.freed(queue);
    }
  }
}
