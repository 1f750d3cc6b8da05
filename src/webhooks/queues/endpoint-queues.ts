import { EndpointQueue } from "./endpoint-queue.ts";

/** Above this number of queues, idle ones are removed. */
const maxQueues = 20_000;

/** The queues of all endpoints, by application. */
export class EndpointQueues {
  readonly #queues = new Map<string, EndpointQueue>();
  #scans = 0;

  /** @param concurrency concurrent attempts per endpoint, unless its application sets another number */
  constructor(readonly concurrency: number) {}

  /**
   * Whether the queues note all endpoints with pending deliveries in the store. Until then all deliveries are claimed
   * from there, so that newer ones do not overtake them.
   */
  get isComplete(): boolean {
    return this.#scans === 0;
  }

  /** `isComplete` is false until `scan`, which reads the store, has ended. */
  async whileIncomplete(scan: () => Promise<void>): Promise<void> {
    this.#scans++;
    try {
      await scan();
    } finally {
      this.#scans--;
    }
  }

  find(applicationId: string): EndpointQueue | undefined {
    return this.#queues.get(applicationId);
  }

  /** Returns the queue of an application, a new one if there is none. */
  of(applicationId: string): EndpointQueue {
    let queue = this.#queues.get(applicationId);
    if (!queue) {
      queue = new EndpointQueue(applicationId, this.concurrency);
      this.#queues.set(applicationId, queue);
    }
    return queue;
  }

  all(): Iterable<EndpointQueue> {
    return this.#queues.values();
  }

  /** Removes a queue if it is idle and there are too many. */
  trim(queue: EndpointQueue): void {
    if (this.#queues.size <= maxQueues || !queue.isIdle) return;
    this.remove(queue);
  }

  remove(queue: EndpointQueue): void {
    if (this.find(queue.applicationId) === queue) this.#queues.delete(queue.applicationId);
  }

  clear(): void {
    this.#queues.clear();
  }
}
