import { usesOnlyStream } from "../domain/applications.ts";
import type { DueDelivery } from "../domain/deliveries.ts";
import { second } from "../domain/time.ts";
import { errorFields } from "../log/log.ts";
import type { Takes } from "../store/events.ts";
import type { RemovedSubscriptions } from "../store/subscriptions.ts";
import type { DispatcherContext } from "./dispatcher-context.ts";
import { returned } from "./judge.ts";
import { type EndpointQueue, isBulk } from "./queues/endpoint-queue.ts";

/** Capacity for the deliveries of events that are being published. */
export interface Reservation {
  /** Whether the dispatcher takes a delivery for this application at once; else it is left in the store. */
  readonly takes: Takes;
  /** Ends the reservation: these were taken and are on disk. To be called in any case. */
  end(taken: readonly DueDelivery[]): void;
}

/** Brings deliveries into memory: those that are being published, and those that are due in the store; and back. */
export interface DeliveryIntake {
  reserve(): Reservation;
  claim(queue: EndpointQueue): Promise<void>;
  /** Nothing more is sent for these subscriptions, and nothing less for others. */
  subscriptionsRemoved(removed: RemovedSubscriptions): void;
  /** Writes the deliveries that a queue has in memory back into the store, which frees their capacity. */
  unload(queue: EndpointQueue): void;
  /** The same, also of those that are on their way into memory: the store holds the state that they have now. */
  recall(queue: EndpointQueue): void;
}

/** Deliveries that are being committed or claimed. What changes meanwhile is applied when they are in memory. */
interface IncomingBatch {
  readonly removedSubscriptions: Set<string>;
  readonly recalled: Set<EndpointQueue>;
}

/** The most deliveries of one endpoint in memory that have not started. */
const maxQueuedPerEndpoint = 256;
/** With fewer it has little, and gets places in memory that others do not get. */
const little = 8;
const claimAgainAfterMs = second;

export function createDeliveryIntake(context: DispatcherContext): DeliveryIntake {
  const { store, ownership, queues, capacity, scheduler, recorder, log, now } = context;
  const incoming = new Set<IncomingBatch>();

  const beginBatch = (): IncomingBatch => {
    const batch = { removedSubscriptions: new Set<string>(), recalled: new Set<EndpointQueue>() };
    incoming.add(batch);
    return batch;
  };

  const writeBack = async (queue: EndpointQueue, delivery: DueDelivery, at: number): Promise<void> => {
    const isFirst = delivery.attempts === 0;
    queue.unrecorded++;
    if (isFirst) queue.returning++;
    // Recorded, because a delivery that came from publishing was never claimed and has no time in the store.
    await recorder.add(returned(delivery, at, queue.generation ?? 0));
    queue.unrecorded--;
    if (isFirst) {
      queue.returning--;
      queue.addBacklog(0);
    } else queue.retryBy(at);
    scheduler.add(queue);
  };

  const unload = (queue: EndpointQueue): void => {
    const deliveries = queue.deliveries.clear();
    capacity.free(deliveries);
    const at = now();
    for (const delivery of deliveries) void writeBack(queue, delivery, at);
  };

  /** Puts deliveries into their queues, as if they had been there since their batch began. */
  const enqueue = (batch: IncomingBatch, deliveries: readonly DueDelivery[], isOfBulk: boolean): void => {
    incoming.delete(batch);
    const changed = new Set<EndpointQueue>();
    for (const delivery of deliveries) {
      // It was handed over meanwhile.
      if (!ownership.holds(delivery.application_id)) {
        giveUp(delivery);
        continue;
      }
      const queue = queues.of(delivery.application_id);
      const isRemoved = batch.removedSubscriptions.has(delivery.subscription_id);
      queue.deliveries.push(isRemoved ? unwanted(delivery) : delivery, isOfBulk);
      changed.add(queue);
    }
    for (const queue of changed) {
      // The store keeps none for one that gets none: another process has changed it, of which nothing was heard yet.
      const { recipient } = queue;
      if (recipient === null || (recipient && usesOnlyStream(recipient))) queue.invalidate();
      if (batch.recalled.has(queue) || queue.isHeldUp(now())) unload(queue);
      scheduler.add(queue);
    }
  };

  /** Leaves a delivery to the process that owns its endpoint now. */
  const giveUp = (delivery: DueDelivery): void => {
    capacity.free([delivery]);
    void store.deliveries.release([delivery.seq]);
    ownership.notify({ kind: "published", applications: [delivery.application_id] });
  };

  return {
    reserve() {
      const batch = beginBatch();
      const reserved: EndpointQueue[] = [];
      const left = new Set<EndpointQueue>();
      const elsewhere = new Set<string>();
      let asked = 0;
      return {
        takes(applicationId, isBehind = false) {
          if (!ownership.holds(applicationId)) {
            elsewhere.add(applicationId);
            return false;
          }
          const queue = queues.of(applicationId);
          asked++;
          const has = queue.deliveries.length + queue.reserved;
          const isTaken =
            scheduler.isRunning &&
            !isBehind &&
            queues.isComplete &&
            queue.canTake(now()) &&
            has < maxQueuedPerEndpoint &&
            capacity.reserve(has < little && !isBulk(asked));
          if (isTaken) {
            queue.reserved++;
            reserved.push(queue);
          } else {
            queue.leftInStore(asked);
            left.add(queue);
          }
          return isTaken;
        },
        end(taken) {
          capacity.use(reserved.length, taken.length);
          for (const queue of reserved) queue.reserved--;
          enqueue(batch, taken, isBulk(asked));
          // A claim that was under way may have read the store before the commit.
          for (const queue of left) {
            queue.leftInStore(asked);
            scheduler.add(queue);
          }
          if (elsewhere.size > 0) ownership.notify({ kind: "published", applications: [...elsewhere] });
        },
      };
    },
    async claim(queue) {
      const { applicationId, claimSize } = queue;
      const asNew = queue.hasBacklog ? queue.claimsAsNew : 0;
      if (!capacity.canClaim(queue, asNew > 0)) return;
      const batch = beginBatch();
      let due: readonly DueDelivery[] = [];
      queue.isClaiming = true;
      try {
        // Before the claim: what is set while it is under way has to stay.
        queue.hasBacklog = false;
        queue.retryAt = null;
        const claimed = await store.deliveries.claim(applicationId, now(), claimSize);
        if (claimed.hasBacklog) queue.addBacklog(Math.max(0, asNew - 1));
        if (claimed.retryAt !== null) queue.retryBy(claimed.retryAt);
        if (scheduler.isRunning) due = claimed.due;
        else await store.deliveries.release(claimed.due.map(({ seq }) => seq));
      } catch (error) {
        log.error("claim_failed", { application_id: applicationId, ...errorFields(error) });
        queue.addBacklog(Math.max(0, asNew - 1));
        await Bun.sleep(claimAgainAfterMs);
      } finally {
        incoming.delete(batch);
        capacity.add(due, asNew > 0);
      }
      // What was claimed of a backlog is not new, nor is what follows it.
      enqueue(batch, due, asNew === 0);
      queue.isClaiming = false;
      scheduler.add(queue);
    },
    subscriptionsRemoved({ application_id, ids }) {
      if (ids.length === 0) return;
      for (const { removedSubscriptions } of incoming) for (const id of ids) removedSubscriptions.add(id);
      const queue = queues.find(application_id);
      if (!queue) return;
      const removed = new Set(ids);
      if (queue.deliveries.length > 0)
        queue.deliveries.change((one) => (removed.has(one.subscription_id) ? unwanted(one) : one));
      for (const one of queue.underWay) {
        if (!removed.has(one.delivery.subscription_id)) continue;
        one.delivery = unwanted(one.delivery);
        one.isOutdated = true;
      }
    },
    unload,
    recall(queue) {
      for (const { recalled } of incoming) recalled.add(queue);
      unload(queue);
    },
  };
}

const unwanted = (delivery: DueDelivery): DueDelivery => ({ ...delivery, isWanted: false });
