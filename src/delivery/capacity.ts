import type { DueDelivery } from "../domain/deliveries.ts";

type Slot = Pick<DueDelivery, "seq">;

/** Slots for new deliveries. */
const maxNew = 14_336;
/** The slots among them that large queues may use. The rest is reserved for small queues. */
const maxNewOfLarge = 12_288;
/** Slots for deliveries claimed from backlogs. They are separate, so that neither kind keeps the other in the store. */
const maxClaimed = 2_048;

/** The memory for queued deliveries, counted in slots, and the queues that wait for free slots in order to claim. */
export class MemoryCapacity<T> {
  #new = 0;
  #reserved = 0;
  /** By `seq`. */
  readonly #claimed = new Set<number>();
  /** Queues that wait to claim from their backlog, in the order of their requests. */
  readonly #waiting = new Set<T>();
  /** Queues that wait to claim new deliveries. */
  readonly #newWaiting = new Set<T>();

  /** @param freed called with a queue that should try to claim again */
  constructor(readonly freed: (queue: T) => void) {}

  get queued(): number {
    return this.#new + this.#claimed.size;
  }

  /** Reserves a slot for a delivery that is being published. Returns false if none is free. */
  reserve(isSmall: boolean): boolean {
    if (this.#new + this.#reserved >= (isSmall ? maxNew : maxNewOfLarge)) return false;
    this.#reserved++;
    return true;
  }

  /** Whether a queue may claim deliveries from the store. If not, `freed` is called with it when slots are free. */
  canClaim(queue: T, isNew: boolean): boolean {
    if (isNew ? this.#new < maxNew : this.#claimed.size < maxClaimed) return true;
    (isNew ? this.#newWaiting : this.#waiting).add(queue);
    return false;
  }

  /** Ends reservations. `used` of them became deliveries in memory. */
  use(reserved: number, used: number): void {
    this.#reserved -= reserved;
    this.#new += used;
  }

  /** Counts deliveries that were claimed, or that return unsent to their queue. */
  add(deliveries: readonly Slot[], isNew: boolean): void {
    if (isNew) this.#new += deliveries.length;
    else for (const { seq } of deliveries) this.#claimed.add(seq);
  }

  /** Frees the slots of deliveries that have started or return to the store. */
  free(deliveries: readonly Slot[]): void {
    for (const { seq } of deliveries) if (!this.#claimed.delete(seq)) this.#new--;
    if (this.#new < maxNew) this.#wakeFirst(this.#newWaiting, deliveries.length);
    if (this.#claimed.size < maxClaimed) this.#wakeFirst(this.#waiting, deliveries.length);
  }

  /** Wakes one queue for each freed slot, because some may have nothing to claim any more. */
  #wakeFirst(waiting: Set<T>, count: number): void {
    if (waiting.size === 0) return;
    for (const queue of [...waiting.values().take(count)]) {
      waiting.delete(queue);
      this.freed(queue);
    }
  }
}

/** The usual upper bound of memory per attempt: a connection with TLS, its buffers, the request and the response. */
const bytesPerConnection = 64 * 1024;
/** The share of memory for connections of deliveries. */
const memoryPart = 1 / 8;
/**
 * The share of descriptors for connections of deliveries. A quarter is for public connections, before they have to make
 * room (`api/http/descriptor-watch.ts`), and another one for the admin listener and files.
 */
const descriptorPart = 1 / 2;
/** Of that share, descriptors left to the database, the log, and files that are open for a short time. */
const otherDescriptors = 64;
/** About half of the local ports for one address, because a closed connection keeps its port for a while. */
const maxConnections = 16_384;
const minConnections = 16;

/**
 * Returns how many connections deliveries may have, idle ones included.
 *
 * @param limits.descriptors the limit of open descriptors; null if the system does not report it
 * @param limits.memory bytes that this process may use
 */
export function connectionCapacity(limits: {
  readonly descriptors: number | null;
  readonly memory: number;
}): number {
  const { descriptors } = limits;
  const byDescriptors =
    descriptors === null ? maxConnections : Math.floor(descriptors * descriptorPart) - otherDescriptors;
  const byMemory = Math.floor((limits.memory * memoryPart) / bytesPerConnection);
  return Math.max(minConnections, Math.min(maxConnections, byDescriptors, byMemory));
}
