import type { DueDelivery, ReserveSlot } from "../domain/deliveries.ts";
import type { Ownership } from "../domain/replicas.ts";
import type { Store } from "../domain/store.ts";
import type { RemovedSubscriptions } from "../domain/subscriptions.ts";
import { second } from "../domain/time.ts";
import type { Timers } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import { EndpointQueue, isBulk, withoutSubscription } from "./endpoint.ts";
import { returnedResult } from "./judge.ts";
import type { Recorder } from "./record.ts";
import type { Alarms, MemoryCapacity, Scheduler } from "./scheduler.ts";

/** Above this number of queues, idle queues are removed. */
const maxQueues = 20_000;

/** The queues of all endpoints, by application. */
export class EndpointQueues {
  readonly #queues = new Map<string, EndpointQueue>();
  /** The scans that have not succeeded yet, by the key with which they are repeated. */
  readonly #scans = new Set<unknown>();

  /** @param concurrency concurrent attempts per endpoint, unless its application sets another number */
  constructor(readonly concurrency: number) {}

  /**
   * Whether the queues note all endpoints with pending deliveries in the store. Until then all deliveries are claimed
   * from there, so that newer deliveries do not overtake them.
   */
  get isComplete(): boolean {
    return this.#scans.size === 0;
  }

  /**
   * `isComplete` is false until `scan`, which reads the store, has succeeded. A scan that fails must be repeated with
   * the same key.
   */
  async untilScanned(key: unknown, scan: () => Promise<void>): Promise<void> {
    this.#scans.add(key);
    await scan();
    this.#scans.delete(key);
  }

  find(applicationId: string): EndpointQueue | undefined {
    return this.#queues.get(applicationId);
  }

  /** Returns the queue of an application. Makes a queue if there is none. */
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

  /** Removes a queue if it is forgettable and there are more than `maxQueues`. */
  trim(queue: EndpointQueue): void {
    if (this.#queues.size <= maxQueues || !queue.isForgettable) return;
    this.remove(queue);
  }

  remove(queue: EndpointQueue): void {
    if (this.find(queue.applicationId) === queue) this.#queues.delete(queue.applicationId);
  }

  clear(): void {
    this.#queues.clear();
  }
}

/** The dependencies and the state that the stages of a delivery share. */
export interface DeliveryContext {
  readonly store: Pick<Store, "applications" | "deliveries" | "endpoints" | "subscriptions">;
  /** Which endpoints this process delivers to. */
  readonly ownership: Ownership;
  readonly log: Log;
  readonly now: () => number;
  readonly timers: Timers;
  readonly queues: EndpointQueues;
  readonly capacity: MemoryCapacity<EndpointQueue>;
  readonly scheduler: Scheduler<EndpointQueue>;
  readonly alarms: Alarms<EndpointQueue>;
  readonly recorder: Recorder;
}

/** Memory that is reserved for the deliveries of events while they are being published. */
export interface Reservation {
  readonly reserveSlot: ReserveSlot;
  /**
   * Ends the reservation. `taken` are the deliveries that are on disk and go into memory; none if publishing failed.
   * Must be called in any case.
   */
  end(taken: readonly DueDelivery[]): void;
}

/** Moves deliveries into memory, from publishing or by claims from the store, and back into the store. */
export interface DeliveryIntake {
  reserve(): Reservation;
  /**
   * Claims deliveries that are due from the store. If memory is full, the queue is scheduled again when it has space.
   */
  claim(queue: EndpointQueue): Promise<void>;
  /** Marks deliveries as without subscription, whether they are in memory or being committed, claimed or sent. */
  subscriptionsRemoved(removed: RemovedSubscriptions): void;
  /**
   * Writes the queued deliveries of an endpoint back into the store, which frees their memory. Deliveries that are
   * still being committed or claimed follow on arrival: they may be outdated, and must not overtake those in the queue.
   */
  recall(queue: EndpointQueue): void;
}

/** Deliveries that are being committed or claimed. Changes until they arrive are noted here, and applied on arrival. */
interface IncomingBatch {
  readonly removedSubscriptions: Set<string>;
  readonly recalled: Set<EndpointQueue>;
}

/** The maximum number of queued deliveries of one endpoint in memory. */
const maxQueuedPerEndpoint = 256;
/** An endpoint with fewer queued deliveries may also use the slots that are reserved for small queues. */
const smallQueue = 8;
/** The wait after a failed claim. */
const claimAgainAfterMs = second;

export function createDeliveryIntake(context: DeliveryContext): DeliveryIntake {
  const { store, ownership, queues, capacity, scheduler, recorder, log, now, timers } = context;
  const incoming = new Set<IncomingBatch>();

  const beginBatch = (): IncomingBatch => {
    const batch = { removedSubscriptions: new Set<string>(), recalled: new Set<EndpointQueue>() };
    incoming.add(batch);
    return batch;
  };

  const writeBack = async (queue: EndpointQueue, delivery: DueDelivery, at: number): Promise<void> => {
    // Releasing a claim is not enough: a delivery that came from publishing was never claimed, and has no due time.
    await recorder.add(returnedResult(delivery, at, queue.generation ?? 0));
    queue.returned(delivery, at);
    scheduler.add(queue);
  };

  const recall = (queue: EndpointQueue): void => {
    for (const { recalled } of incoming) recalled.add(queue);
    const deliveries = queue.recall();
    capacity.free(deliveries);
    const at = now();
    for (const delivery of deliveries) void writeBack(queue, delivery, at);
  };

  /** Ends a batch: queues its deliveries, and applies the changes that were noted since the batch began. */
  const enqueue = (batch: IncomingBatch, deliveries: readonly DueDelivery[], isOfBulk: boolean): void => {
    incoming.delete(batch);
    const changed = new Set<EndpointQueue>();
    for (const delivery of deliveries) {
      if (!ownership.holds(delivery.application_id)) {
        leaveToOwner(delivery);
        continue;
      }
      const queue = queues.of(delivery.application_id);
      const isRemoved = batch.removedSubscriptions.has(delivery.subscription_id);
      queue.add(isRemoved ? withoutSubscription(delivery) : delivery, isOfBulk);
      changed.add(queue);
    }
    for (const queue of changed) {
      // Read before `receivesWebhooks`, which forgets that an application has no webhook. Without a webhook, deliveries
      // are not kept back, but canceled.
      const isSuspended = queue.isSuspended(now());
      // The store makes no deliveries for an application without a webhook. If the queue knows of none, another process
      // has changed the application, and the notification has not arrived yet.
      queue.receivesWebhooks();
      if (batch.recalled.has(queue) || isSuspended) recall(queue);
      scheduler.add(queue);
    }
  };

  /** Leaves a delivery to the process that has become the owner of its endpoint. */
  const leaveToOwner = (delivery: DueDelivery): void => {
    capacity.free([delivery]);
    void store.deliveries.release([delivery.seq]);
    ownership.notify({ kind: "published", applications: [delivery.application_id] });
  };

  return {
    reserve() {
      const batch = beginBatch();
      const reserved: EndpointQueue[] = [];
      /** Queues with deliveries that stay in the store. */
      const leftInStore = new Set<EndpointQueue>();
      const applicationsOfOthers = new Set<string>();
      let published = 0;
      return {
        reserveSlot(applicationId, isBehind = false) {
          if (!ownership.holds(applicationId)) {
            applicationsOfOthers.add(applicationId);
            return false;
          }
          const queue = queues.of(applicationId);
          published++;
          const { queued } = queue;
          const isTaken =
            scheduler.isRunning &&
            !isBehind &&
            queues.isComplete &&
            queue.canTake(now()) &&
            queued < maxQueuedPerEndpoint &&
            capacity.reserve(queued < smallQueue && !isBulk(published));
          if (isTaken) {
            queue.reserve();
            reserved.push(queue);
          } else {
            queue.noteLeftInStore(published);
            leftInStore.add(queue);
          }
          return isTaken;
        },
        end(taken) {
          capacity.use(reserved.length, taken.length);
          for (const queue of reserved) queue.endReservation();
          enqueue(batch, taken, isBulk(published));
          // Noted a second time, because a claim in progress has reset the note and may have read before the commit.
          for (const queue of leftInStore) {
            queue.noteLeftInStore(published);
            scheduler.add(queue);
          }
          const applications = [...applicationsOfOthers];
          if (applications.length > 0) ownership.notify({ kind: "published", applications });
        },
      };
    },
    async claim(queue) {
      const { applicationId, claimSize, claimsAsNew: asNew } = queue;
      if (!capacity.canClaim(queue, asNew > 0)) return;
      const batch = beginBatch();
      let due: readonly DueDelivery[] = [];
      queue.beginClaim();
      try {
        const claimed = await store.deliveries.claim(applicationId, now(), claimSize);
        queue.claimed(asNew, claimed);
        if (scheduler.isRunning) due = claimed.due;
        else await store.deliveries.release(claimed.due.map(({ seq }) => seq));
      } catch (error) {
        log.failure("claim_failed", error, { application_id: applicationId });
        queue.claimed(asNew, null);
        await timers.pause(claimAgainAfterMs);
      } finally {
        incoming.delete(batch);
        capacity.add(due, asNew > 0);
      }
      // Deliveries claimed from a backlog are not new: until they have started, the queue has the priority of a bulk.
      enqueue(batch, due, asNew === 0);
      queue.endClaim();
      scheduler.add(queue);
    },
    subscriptionsRemoved({ application_id, ids }) {
      if (ids.length === 0) return;
      for (const { removedSubscriptions } of incoming) for (const id of ids) removedSubscriptions.add(id);
      queues.find(application_id)?.unsubscribe(new Set(ids));
    },
    recall,
  };
}
