import type { Application } from "../domain/applications.ts";
import type { Deliverer, EndpointNotification } from "../domain/replicas.ts";
import type { RemovedSubscriptions } from "../domain/subscriptions.ts";
import { second } from "../domain/time.ts";
import type { EndpointQueue } from "./endpoint.ts";
import { longestWaitMs } from "./judge.ts";
import type { DeliveryContext, DeliveryIntake } from "./queue.ts";

/**
 * The number of successful scans after a publish with an unknown outcome. Together they last longer than its statement
 * may.
 */
const scansAfterUnknownOutcome = 15;
/** The time between two of the scans after a publish with an unknown outcome. */
const scanEveryMs = second;

/** Requests about endpoints and reports of changes. They reach the owner of the endpoint, whichever process that is. */
export interface EndpointRequests {
  /** The outcome of a publish is unknown: the events may be stored already, or may be stored later. */
  outcomeUnknown(): void;
  /** Deliveries of this application may be due now. */
  wake(applicationId: string): void;
  /**
   * A person requested deliveries of this application. If sending is suspended, the next delivery is sent as a probe.
   */
  sendNow(applicationId: string): void;
  /**
   * The application has changed. Null: it was removed, or its state is unknown; it is looked up again. Attempts that
   * begin from now on use its new state.
   */
  applicationChanged(applicationId: string, application: Application | null): void;
  /** Subscriptions were removed. Nothing more is sent for them. */
  subscriptionsRemoved(removed: RemovedSubscriptions): void;
  /** Enables a disabled or failing endpoint. Sending begins with one attempt at a time. */
  enable(applicationId: string): Promise<void>;
}

/**
 * Applies changes of ownership, and changes that this or another process made, to the endpoint queues. Which endpoints
 * this process owns is decided by the `Ownership` of its storage.
 */
interface EndpointOwnership extends Deliverer {
  readonly requests: EndpointRequests;
  /** The clock was set back. Times that were stored before may be too far in the future. */
  clockSetBack(): void;
}

/**
 * Requests about endpoints of other processes are forwarded to their owners.
 *
 * @param requested called when a person requested deliveries from another process for an endpoint of this process
 */
export function createEndpointOwnership(
  context: DeliveryContext,
  intake: DeliveryIntake,
  requested: () => void,
): EndpointOwnership {
  const { store, ownership, queues, capacity, scheduler, alarms, recorder, log, now, timers } = context;
  let scansLeft = 0;
  /** The number of calls of `makeFarRetriesDue`. */
  let farCalls = 0;

  /** Schedules the queues of applications that have pending deliveries in the store. */
  const scan = async (isWanted: (applicationId: string) => boolean): Promise<void> => {
    for (const { application_id, due_at } of await store.deliveries.pending()) {
      if (!isWanted(application_id) || !ownership.holds(application_id)) continue;
      const queue = queues.of(application_id);
      queue.noteFound(due_at);
      scheduler.add(queue);
    }
  };

  const scanAll = () => scan(() => true);
  const logFailure = (error: unknown): void => log.failure("look_up_failed", error);

  const scanRepeatedly = async (): Promise<void> => {
    while (scansLeft > 0 && !scheduler.hasEnded) {
      await timers.pause(scanEveryMs);
      if (scheduler.hasEnded) break;
      const isScanned = await scanAll().then(() => true, logFailure);
      if (isScanned) scansLeft--;
    }
    scansLeft = 0;
  };

  /**
   * Makes retries due whose time is beyond the longest wait. A clock that was far ahead has set such a time. Repeats
   * until none is left, because other transactions may hold some for long: nothing else waits for it. A later call
   * takes over. Never rejects.
   */
  const makeFarRetriesDue = async (): Promise<void> => {
    const call = ++farCalls;
    while (call === farCalls && !scheduler.hasEnded) {
      const at = now();
      try {
        const isDone = await store.deliveries.makeFarRetriesDue(at, at + longestWaitMs);
        if (isDone) return;
        await scanAll();
      } catch (error) {
        if (!scheduler.hasEnded) logFailure(error);
      }
      await timers.pause(scanEveryMs);
    }
  };

  const wake = (applicationId: string): void => {
    const queue = queues.of(applicationId);
    queue.scheduleRetry(now());
    scheduler.add(queue);
  };

  const sendNow = (applicationId: string): void => {
    const queue = queues.of(applicationId);
    queue.sendNow(now());
    scheduler.add(queue);
  };

  const changed = (applicationId: string, application: Application | null): void => {
    const queue = queues.find(applicationId);
    if (!queue) return;
    if (queue.applicationChanged(application?.endpoint_generation ?? null, now())) {
      log.info("endpoint.enabled", { application_id: applicationId });
    }
    // A change may end pending deliveries in the store, so the copies in memory are outdated.
    intake.recall(queue);
    scheduler.add(queue);
  };

  /** Another process has changed the application or enabled its endpoint, so retries may be due. */
  const changedByOther = (applicationId: string): void => {
    const queue = queues.find(applicationId);
    if (queue) {
      queue.applicationChanged(null, now());
      intake.recall(queue);
    }
    wake(applicationId);
  };

  /** Removes the queue of an endpoint that another process owns now. */
  const forget = (queue: EndpointQueue): void => {
    const deliveries = queue.lose();
    alarms.clear(queue);
    capacity.free(deliveries);
    void store.deliveries.release(deliveries.map(({ seq }) => seq));
    recorder.dropEndpoint(queue.applicationId);
    queues.remove(queue);
  };

  /** Calls `work` if this process owns the endpoint; else notifies the process that does. */
  const atOwner = (applicationId: string, work: () => void, notification: EndpointNotification): void => {
    if (ownership.holds(applicationId)) work();
    else ownership.notify(notification);
  };

  const enabled = (applicationId: string, generation: number): void => {
    const queue = queues.of(applicationId);
    queue.enabled(generation, now());
    log.info("endpoint.enabled", { application_id: applicationId });
    scheduler.add(queue);
  };

  const requests: EndpointRequests = {
    outcomeUnknown() {
      const isScanning = scansLeft > 0;
      scansLeft = scansAfterUnknownOutcome;
      // The key is its own: as soon as the last scan is made, this may begin again.
      if (!isScanning) void queues.untilScanned(Symbol(), scanRepeatedly);
    },
    wake,
    sendNow: (application) =>
      atOwner(application, () => sendNow(application), { kind: "requested", application }),
    applicationChanged(id, application) {
      atOwner(id, () => changed(id, application), { kind: "changed", application: id });
    },
    subscriptionsRemoved(removed) {
      const { application_id: application, ids } = removed;
      if (ids.length === 0) return;
      const notification = { kind: "unsubscribed", application, ids } as const;
      atOwner(application, () => intake.subscriptionsRemoved(removed), notification);
    },
    async enable(application) {
      const generation = await store.endpoints.enable(application, now()).catch((error: unknown) => {
        // It may be stored nevertheless.
        requests.applicationChanged(application, null);
        throw error;
      });
      if (generation === null) return;
      atOwner(application, () => enabled(application, generation), { kind: "changed", application });
    },
  };

  return {
    requests,
    async gained(isGained) {
      await queues.untilScanned(isGained, async () => {
        for (const endpoint of await store.endpoints.failing()) {
          if (!isGained(endpoint.application_id) || !ownership.holds(endpoint.application_id)) continue;
          queues.of(endpoint.application_id).restore(endpoint, now());
        }
        await scan(isGained);
      });
      void makeFarRetriesDue();
    },
    lost(isLost) {
      for (const queue of queues.all()) if (isLost(queue.applicationId)) forget(queue);
    },
    *busy() {
      for (const queue of queues.all()) if (queue.isBusy) yield queue.applicationId;
    },
    resumed: () => scheduler.resume(),
    received(notification) {
      if (notification.kind === "published") {
        for (const id of notification.applications) {
          if (!ownership.holds(id)) continue;
          const queue = queues.of(id);
          queue.noteLeftInStore(notification.applications.length);
          scheduler.add(queue);
        }
        return;
      }
      const { application } = notification;
      if (!ownership.holds(application)) return;
      if (notification.kind === "requested") {
        sendNow(application);
        requested();
      } else if (notification.kind === "changed") changedByOther(application);
      else intake.subscriptionsRemoved({ application_id: application, ids: notification.ids });
    },
    notificationsMissed() {
      for (const queue of queues.all()) {
        queue.applicationMayHaveChanged();
        intake.recall(queue);
        scheduler.add(queue);
      }
    },
    scan: scanAll,
    clockSetBack() {
      // Results that are not on disk yet have times of the former clock, too.
      void recorder.written().then(makeFarRetriesDue).then(scanAll).catch(logFailure);
    },
  };
}
