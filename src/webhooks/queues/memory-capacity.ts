import type { DueDelivery } from "../../domain/deliveries.ts";

type Place = Pick<DueDelivery, "seq">;

/** The most new deliveries in memory that have not started. */
const maxNew = 14_336;
/** The last places are for endpoints that have little, however much is published to others. */
const maxNewOfOthers = 12_288;
/** The most that were claimed from backlogs, apart from new ones, so that neither keeps the other in the store. */
const maxClaimed = 2_048;

/** The capacity in memory for deliveries that have not started, and the queues that wait for some of it to claim. */
export class MemoryCapacity<T> {
  #new = 0;
  #reserved = 0;
  /** By `seq`. */
  readonly #claimed = new Set<number>();
  /** Those with backlogs, in the order in which they asked. */
  readonly #waiting = new Set<T>();
  /** Those with new deliveries, which wait only where memory is full. */
  readonly #newWaiting = new Set<T>();

  /** @param freed called with the queue that may ask again */
  constructor(readonly freed: (queue: T) => void) {}

  get queued(): number {
    return this.#new + this.#claimed.size;
  }

  /** Reserves a place for a delivery that is being published; false when there is none. */
  reserve(hasLittle: boolean): boolean {
    if (this.#new + this.#reserved >= (hasLittle ? maxNew : maxNewOfOthers)) return false;
    this.#reserved++;
    return true;
  }

  /** Whether deliveries may be claimed from the store; if not, `freed` is called with the queue when they may. */
  canClaim(queue: T, isNew: boolean): boolean {
    if (isNew ? this.#new < maxNew : this.#claimed.size < maxClaimed) return true;
    (isNew ? this.#newWaiting : this.#waiting).add(queue);
    return false;
  }

  /** Ends reservations, of which `used` became deliveries in memory. */
  use(reserved: number, used: number): void {
    this.#reserved -= reserved;
    this.#new += used;
  }

  /** Deliveries that were claimed, or had started, are in memory. */
  add(deliveries: readonly Place[], isNew: boolean): void {
    if (isNew) this.#new += deliveries.length;
    else for (const { seq } of deliveries) this.#claimed.add(seq);
  }

  /** Frees the places of deliveries that have started or went back into the store. */
  free(deliveries: readonly Place[]): void {
    for (const { seq } of deliveries) if (!this.#claimed.delete(seq)) this.#new--;
    if (this.#new < maxNew) this.#wakeFirst(this.#newWaiting, deliveries.length);
    if (this.#claimed.size < maxClaimed) this.#wakeFirst(this.#waiting, deliveries.length);
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
