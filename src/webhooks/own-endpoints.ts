import { type Application, receives, usesOnlyStream } from "../domain/applications.ts";
import { errorFields, type Log } from "../log/log.ts";
import type { Deliverer, EndpointNews, Ownership } from "../store/replicas/ownership.ts";
import type { Store } from "../store/store.ts";
import type { RemovedSubscriptions } from "../store/subscriptions.ts";
import type { DeliveryIntake } from "./intake.ts";
import type { EndpointQueue } from "./queues/endpoint-queue.ts";
import type { EndpointQueues } from "./queues/endpoint-queues.ts";
import type { MemoryCapacity } from "./queues/memory-capacity.ts";
import type { Scheduler } from "./queues/scheduler.ts";
import { longestWaitMs } from "./retry.ts";

interface OwnEndpointsOptions {
  readonly store: Pick<Store, "applications" | "deliveries" | "endpoints">;
  readonly ownership: Ownership;
  readonly queues: EndpointQueues;
  readonly capacity: MemoryCapacity<EndpointQueue>;
  readonly scheduler: Scheduler<EndpointQueue>;
  readonly intake: DeliveryIntake;
  readonly log: Log;
  readonly now: () => number;
}

/** The queues of the endpoints that this process delivers to, as ownership and news change them. */
export interface OwnEndpoints extends Deliverer {
  /** Whether what is pending of some endpoints is still being looked up. */
  readonly isGaining: boolean;
  wake(applicationId: string): void;
  hurry(applicationId: string): void;
  applicationChanged(applicationId: string, application: Application | null): void;
  subscriptionsRemoved(removed: RemovedSubscriptions): void;
  /** The endpoint of an application has a new generation: its retries are due. */
  enabled(applicationId: string, generation: number): void;
  /** Times that were given before may be far away. */
  clockSetBack(): void;
}

/** What concerns the endpoint of another process is told to that one. */
export function createOwnEndpoints(options: OwnEndpointsOptions): OwnEndpoints {
  const { store, ownership, queues, capacity, scheduler, intake, log, now } = options;
  let gaining = 0;

  const look = async (isIts: (applicationId: string) => boolean): Promise<void> => {
    for (const { application_id, due_at } of await store.deliveries.pending()) {
      if (!isIts(application_id) || !ownership.holds(application_id)) continue;
      const queue = queues.of(application_id);
      if (due_at === 0) queue.hasBacklog = true;
      queue.retryBy(due_at);
      scheduler.add(queue);
    }
  };

  const bringBack = async (): Promise<void> => {
    const at = now();
    await store.deliveries.bringBack(at, at + longestWaitMs);
  };

  const wake = (applicationId: string): void => {
    const queue = queues.of(applicationId);
    queue.retryBy(now());
    scheduler.add(queue);
  };

  const hurry = (applicationId: string): void => {
    queues.of(applicationId).pace.resume(now());
    wake(applicationId);
  };

  const changed = (applicationId: string, application: Application | null): void => {
    const queue = queues.find(applicationId);
    if (!queue) return;
    queue.edited();
    if (application && queue.beginGeneration(application.endpoint_generation, now())) {
      log.info("endpoint.enabled", { application_id: applicationId });
    }
    // What was pending has ended in the store, also where the next change follows at once.
    if (application && (!receives(application) || usesOnlyStream(application))) intake.recall(queue);
    scheduler.add(queue);
  };

  /** Another process has changed it: its retries may be due. */
  const changedElsewhere = (applicationId: string): void => {
    const queue = queues.find(applicationId);
    if (queue) {
      queue.edited();
      intake.recall(queue);
    }
    wake(applicationId);
  };

  const forget = (queue: EndpointQueue): void => {
    queue.isLost = true;
    queue.setTimer(null);
    const deliveries = queue.deliveries.clear();
    capacity.free(deliveries.length);
    void store.deliveries.release(deliveries.map(({ seq }) => seq));
    queues.remove(queue);
  };

  /** Does what concerns an endpoint of this process, or has its owner do it. */
  const atOwner = (applicationId: string, work: () => void, news: EndpointNews): void => {
    if (ownership.holds(applicationId)) work();
    else ownership.notify(news);
  };

  return {
    get isGaining() {
      return gaining > 0;
    },
    wake,
    hurry: (application) => atOwner(application, () => hurry(application), { kind: "asked", application }),
    applicationChanged(applicationId, application) {
      const news = { kind: "changed", application: applicationId } as const;
      atOwner(applicationId, () => changed(applicationId, application), news);
    },
    subscriptionsRemoved(removed) {
      const { application_id: application, ids } = removed;
      if (ids.length === 0) return;
      const news = { kind: "unsubscribed", application, ids } as const;
      atOwner(application, () => intake.subscriptionsRemoved(removed), news);
    },
    enabled(application, generation) {
      const enable = () => {
        const queue = queues.of(application);
        queue.invalidate();
        queue.beginGeneration(generation, now());
        // Needed for a queue without a generation before: its retries are due.
        queue.retryBy(now());
        log.info("endpoint.enabled", { application_id: application });
        scheduler.add(queue);
      };
      atOwner(application, enable, { kind: "changed", application });
    },
    async gained(isGained) {
      gaining++;
      try {
        for (const endpoint of await store.endpoints.failing()) {
          if (!isGained(endpoint.application_id) || !ownership.holds(endpoint.application_id)) continue;
          const queue = queues.of(endpoint.application_id);
          queue.beginGeneration(endpoint.generation, now());
          queue.endpoint ??= endpoint;
        }
        await bringBack();
        await look(isGained);
      } finally {
        gaining--;
      }
    },
    lost(isLost) {
      for (const queue of queues.all()) if (isLost(queue.applicationId)) forget(queue);
    },
    *busy() {
      for (const queue of queues.all()) if (queue.isBusy) yield queue.applicationId;
    },
    resumed: () => scheduler.resume(),
    heard(news) {
      if (news.kind === "published") {
        for (const id of news.applications) {
          if (!ownership.holds(id)) continue;
          const queue = queues.of(id);
          queue.hasBacklog = true;
          scheduler.add(queue);
        }
        return;
      }
      const { application } = news;
      if (!ownership.holds(application)) return;
      if (news.kind === "asked") hurry(application);
      else if (news.kind === "changed") changedElsewhere(application);
      else intake.subscriptionsRemoved({ application_id: application, ids: news.ids });
    },
    missed() {
      for (const queue of queues.all()) {
        queue.invalidate();
        intake.recall(queue);
        scheduler.add(queue);
      }
    },
    look: () => look(() => true),
    clockSetBack() {
      bringBack()
        .then(() => look(() => true))
        .catch((error) => log.error("look_up_failed", errorFields(error)));
    },
  };
}
