import { type Application, receives, usesOnlyStream } from "../domain/applications.ts";
import { second } from "../domain/time.ts";
import { errorFields } from "../log/log.ts";
import type { Deliverer, EndpointNews } from "../store/replicas/ownership.ts";
import type { RemovedSubscriptions } from "../store/subscriptions.ts";
import type { DispatcherContext } from "./dispatcher-context.ts";
import type { DeliveryIntake } from "./intake.ts";
import type { EndpointQueue } from "./queues/endpoint-queue.ts";
import { longestWaitMs } from "./retry.ts";

/** The store is looked through so often after publishing without an answer: for longer than its statement may take. */
const looksForUnanswered = 15;
const lookEveryMs = second;

/** What may be asked of the endpoints, whichever process delivers to them. */
export interface EndpointRequests {
  /** The storage has not answered to publishing: its events may have been kept, or may be kept yet. */
  unanswered(): void;
  /** Deliveries of this application may be due now. */
  wake(applicationId: string): void;
  /** Deliveries of this application were asked for now: an endpoint that is held up is probed. */
  hurry(applicationId: string): void;
  /** The application has changed, or is removed (null): what starts from now on follows its new state. */
  applicationChanged(applicationId: string, application: Application | null): void;
  /** Subscriptions of an application were removed: nothing more is sent for them. */
  subscriptionsRemoved(removed: RemovedSubscriptions): void;
  /** Sends to a disabled or failing endpoint again, slowly at first. */
  enable(applicationId: string): Promise<void>;
}

/** The queues of the endpoints that this process delivers to, as ownership and news change them. */
interface OwnEndpoints extends Deliverer {
  readonly requests: EndpointRequests;
  /** Times that were given before may be far away. */
  clockSetBack(): void;
}

/**
 * What concerns the endpoint of another process is told to that one.
 *
 * @param asked called when another process was asked for deliveries to an endpoint of this one
 */
export function createOwnEndpoints(
  context: DispatcherContext,
  intake: DeliveryIntake,
  asked: () => void,
): OwnEndpoints {
  const { store, ownership, queues, capacity, scheduler, log, now } = context;
  let looksLeft = 0;

  const look = async (isIts: (applicationId: string) => boolean): Promise<void> => {
    for (const { application_id, due_at } of await store.deliveries.pending()) {
      if (!isIts(application_id) || !ownership.holds(application_id)) continue;
      const queue = queues.of(application_id);
      if (due_at === 0 && !queue.hasBacklog) queue.addBacklog(0);
      queue.retryBy(due_at);
      scheduler.add(queue);
    }
  };

  const lookAtAll = () => look(() => true);
  const logFailure = (error: unknown) => log.error("look_up_failed", errorFields(error));
  const lookAgain = () => lookAtAll().catch(logFailure);

  const lookForUnanswered = async (): Promise<void> => {
    for (; looksLeft > 0 && !scheduler.hasEnded; looksLeft--) {
      await Bun.sleep(lookEveryMs);
      if (!scheduler.hasEnded) await lookAgain();
    }
    looksLeft = 0;
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
    queues.of(applicationId).resume(now());
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
    capacity.free(deliveries);
    void store.deliveries.release(deliveries.map(({ seq }) => seq));
    queues.remove(queue);
  };

  /** Does what concerns an endpoint of this process, or has its owner do it. */
  const atOwner = (applicationId: string, work: () => void, news: EndpointNews): void => {
    if (ownership.holds(applicationId)) work();
    else ownership.notify(news);
  };

  const enabled = (applicationId: string, generation: number): void => {
    const queue = queues.of(applicationId);
    queue.invalidate();
    queue.beginGeneration(generation, now());
    // Needed for a queue without a generation before: its retries are due.
    queue.retryBy(now());
    log.info("endpoint.enabled", { application_id: applicationId });
    scheduler.add(queue);
  };

  const requests: EndpointRequests = {
    unanswered() {
      const isLooking = looksLeft > 0;
      looksLeft = looksForUnanswered;
      if (!isLooking) void queues.lookingUp(lookForUnanswered);
    },
    wake,
    hurry: (application) => atOwner(application, () => hurry(application), { kind: "asked", application }),
    applicationChanged(id, application) {
      atOwner(id, () => changed(id, application), { kind: "changed", application: id });
    },
    subscriptionsRemoved(removed) {
      const { application_id: application, ids } = removed;
      if (ids.length === 0) return;
      const news = { kind: "unsubscribed", application, ids } as const;
      atOwner(application, () => intake.subscriptionsRemoved(removed), news);
    },
    async enable(application) {
      const generation = await store.endpoints.enable(application, now());
      if (generation === null) return;
      atOwner(application, () => enabled(application, generation), { kind: "changed", application });
    },
  };

  return {
    requests,
    gained: (isGained) =>
      queues.lookingUp(async () => {
        for (const endpoint of await store.endpoints.failing()) {
          if (!isGained(endpoint.application_id) || !ownership.holds(endpoint.application_id)) continue;
          const queue = queues.of(endpoint.application_id);
          queue.beginGeneration(endpoint.generation, now());
          queue.takeUp(endpoint, now());
        }
        await bringBack();
        await look(isGained);
      }),
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
          queue.leftInStore(news.applications.length);
          scheduler.add(queue);
        }
        return;
      }
      const { application } = news;
      if (!ownership.holds(application)) return;
      if (news.kind === "asked") {
        hurry(application);
        asked();
      } else if (news.kind === "changed") changedElsewhere(application);
      else intake.subscriptionsRemoved({ application_id: application, ids: news.ids });
    },
    missed() {
      for (const queue of queues.all()) {
        queue.invalidate();
        intake.recall(queue);
        scheduler.add(queue);
      }
    },
    look: lookAtAll,
    clockSetBack() {
      void bringBack().then(lookAgain, logFailure);
    },
  };
}
