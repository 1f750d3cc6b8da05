import { EndpointQueue } from "./endpoint-queue.ts";

/** Idle queues are kept up to this number in all. */
const maxQueues = 20_000;

/** The queues of all endpoints, by application. */
export class EndpointQueues {
  readonly #queues = new Map<string, EndpointQueue>();
  #lookingUp = 0;

  /** @param concurrency of an endpoint whose application sets none */
  constructor(readonly concurrency: number) {}

  /**
   * Whether it is known of which endpoints deliveries wait in the store. Until then all are claimed from there, so that
   * nothing newer overtakes them.
   */
  get isComplete(): boolean {
    return this.#lookingUp === 0;
  }

  /** Is not complete before this has ended. */
  async lookingUp(work: () => Promise<void>): Promise<void> {
    this.#lookingUp++;
    try {
      await work();
    } finally {
      this.#lookingUp--;
    }
  }

  find(applicationId: string): EndpointQueue | undefined {
    return this.#queues.get(applicationId);
  }

  /** The queue of an application; a new one where there is none. */
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

  /** Forgets a queue that is idle, where there are too many. */
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
