import type { KeyObject } from "node:crypto";
import { receives, recipientOf } from "../domain/applications.ts";
import { minute, second } from "../domain/time.ts";
import { errorFields, type Log } from "../log/log.ts";
import { type Ownership, soleOwnership } from "../store/replicas/ownership.ts";
import type { Store } from "../store/store.ts";
import type { AttemptTraces } from "../tracing/attempts.ts";
import type { Sender } from "./client/sender.ts";
import { type Counts, DeliveryCounter, type EndedDelivery } from "./counts.ts";
import { createDeliveryWorker } from "./deliver.ts";
import { createDeliveryIntake, type Reservation } from "./intake.ts";
import { type Notices, noticesOf } from "./notices/notice.ts";
import { createOwnEndpoints, type EndpointRequests } from "./own-endpoints.ts";
import type { EndpointQueue } from "./queues/endpoint-queue.ts";
import { EndpointQueues } from "./queues/endpoint-queues.ts";
import { MemoryCapacity } from "./queues/memory-capacity.ts";
import { type Priority, Scheduler } from "./queues/scheduler.ts";
import { createRecorder } from "./recorder.ts";

interface DispatcherOptions {
  readonly store: Pick<Store, "applications" | "deliveries" | "endpoints">;
  /** By default all endpoints are its own. */
  readonly ownership?: Ownership;
  readonly sender: Pick<Sender, "send">;
  readonly signingKey: KeyObject;
  readonly log: Log;
  readonly now: () => number;
  /** A clock that is never set, to notice when the other one is. */
  readonly monotonic: () => number;
  /** From 0 to 1, for the jitter of retries. */
  readonly random: () => number;
  /** How many attempts may run at once for an endpoint, unless its application sets it. */
  readonly concurrency?: number;
  /** How many connections there may be for all of them. */
  readonly connections?: number;
  /** Whether nothing is sent for now; `resume` is called when that ends. By default it never is. */
  readonly isHeld?: () => boolean;
  /** Makes the notices about endpoints; by default they are sent nowhere. */
  readonly notices?: Notices;
  /** The spans of attempts; by default nothing is traced. */
  readonly traces?: AttemptTraces | null;
  /** Called when another process was asked for deliveries to an endpoint of this one. */
  readonly asked?: () => void;
  /** Called when what became of a delivery that was asked for is on disk. */
  readonly sentAgain?: (applicationId: string) => void;
  /** Called with what became of each delivery or attempt. */
  readonly ended?: (outcome: EndedDelivery) => void;
  /** Called with the applications about whose endpoints there are new notices. */
  readonly noticed?: (applicationIds: readonly string[]) => void;
  /** How long results are gathered before they are recorded, instead of the recorder's own times. */
  readonly gatherMs?: number | undefined;
}

export interface Dispatcher extends EndpointRequests {
  /** Sends what is pending in the store, and works until the signal; then no attempt is under way any more. */
  run(signal: AbortSignal): Promise<void>;
  reserve(): Reservation;
  /** What was held may be sent now. */
  resume(): void;
  /** Whether an application is sent nothing for now, because its endpoint fails or is disabled. */
  isHeldUp(applicationId: string): boolean;
  readonly stats: DispatcherStats;
}

/** The present load of the dispatcher, and what it has done since the start. */
export interface DispatcherStats {
  readonly inFlight: number;
  /** Deliveries in memory that have not started. */
  readonly queued: number;
  readonly unrecorded: number;
  /** Endpoints that are sent nothing for now, because they fail or asked for it. */
  readonly heldUp: number;
  /** Endpoints that wait for their turn, or whose state or deliveries are being read from the store. */
  readonly waiting: number;
  readonly counts: Counts;
}

/** Backpressure: with so many results that are not on disk nothing new is started; the disk is full or slow. */
const maxUnrecorded = 4_096;
/** The part of the connections that deliveries of a priority and of less urgent ones may have: the rest is for what is new. */
const connectionPart: Readonly<Record<Priority, number>> = { new: 1, bulk: 7 / 8, backlog: 1 / 2 };
const lookUpAgainAfterMs = second;
/** A smaller difference is a clock that is being adjusted, or a busy machine. */
const leastClockJumpMs = minute;

/**
 * Sends what is due: what was just published comes from memory, everything else is claimed from the store. It holds no
 * state that matters: what it has not recorded when the process ends is still pending, and is sent again under the
 * same id. `deliver.ts` has the way of one delivery.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, log, now, monotonic, concurrency = 128, connections = 1_024 } = options;
  const { ownership = soleOwnership(() => store.deliveries.releaseAll()) } = options;
  const { notices = noticesOf(false), ended = () => {}, isHeld = () => false, asked = () => {} } = options;
  const counter = new DeliveryCounter();
  const queues = new EndpointQueues(concurrency);
  const scheduler = new Scheduler<EndpointQueue>((queue) => queue.priority);
  const capacity = new MemoryCapacity<EndpointQueue>((queue) => scheduler.add(queue));
  const { noticed, gatherMs } = options;
  const recorder = createRecorder({ store, log, progressed: () => scheduler.resume(), noticed, gatherMs });
  const context = { store, ownership, queues, capacity, scheduler, recorder, log, now };
  const intake = createDeliveryIntake(context);
  const endpoints = createOwnEndpoints(context, intake, asked);
  let clockOffset = now() - monotonic();
  /** The state of endpoints is measured in elapsed time, which setting the clock must not change. */
  const checkClock = (): void => {
    const ms = now() - monotonic() - clockOffset;
    clockOffset += ms;
    if (Math.abs(ms) < leastClockJumpMs) return;
    log.warn("clock_jumped", { by_ms: Math.round(ms) });
    for (const queue of queues.all()) {
      queue.shiftClock(ms);
      const { endpoint } = queue;
      if (endpoint?.failing_since || endpoint?.paused_until) recorder.addEndpoint(endpoint);
      scheduler.add(queue);
    }
    if (ms < 0) endpoints.clockSetBack();
  };

  const worker = createDeliveryWorker(context, {
    ...options,
    intake,
    counter,
    traces: options.traces ?? null,
    notices,
    ended,
    checkClock,
  });

  const lookUp = async (queue: EndpointQueue): Promise<void> => {
    const { applicationId, changes } = queue;
    queue.isLookingUp = true;
    try {
      const application = await store.applications.find(applicationId);
      const endpoint = await store.endpoints.find(applicationId);
      const recipient = application && receives(application) ? recipientOf(application) : null;
      // After a change meanwhile, the next step looks it up once more.
      if (queue.changes === changes) queue.lookedUp(recipient, endpoint, now());
      if (queue.pace.resumeAt > now()) intake.unload(queue);
      scheduler.add(queue);
    } catch (error) {
      log.error("look_up_failed", { application_id: applicationId, ...errorFields(error) });
      queue.setTimer(() => scheduler.add(queue), lookUpAgainAfterMs);
    } finally {
      queue.isLookingUp = false;
    }
  };

  /** Schedules a queue again for the time when something will be due. */
  const sleep = (queue: EndpointQueue, at: number): void => {
    const wakeAt = queue.wakeAt();
    if (wakeAt === null) queue.setTimer(null);
    else queue.setTimer(() => scheduler.add(queue), wakeAt - at);
  };

  /** Starts one delivery of a queue; false when there is nothing more to start for now. */
  const step = (queue: EndpointQueue): boolean => {
    if (queue.isLost || !ownership.holds(queue.applicationId)) return false;
    checkClock();
    const at = now();
    if (queue.recipient === undefined) {
      if (!queue.isLookingUp) void lookUp(queue);
      return false;
    }
    if (queue.needsClaim(at)) void intake.claim(queue);
    if (queue.isClaiming && queue.deliveries.length === 0) return false;
    // An endpoint may have half of the connections that are left, so that slow ones do not take all of them.
    const isCrowded = queue.pace.inFlight > 0 && queue.inFlight * 2 >= connections - worker.inFlight;
    if (isCrowded || !queue.mayStart(at)) {
      sleep(queue, at);
      return false;
    }
    if (queue.deliveries.length === 0) {
      sleep(queue, at);
      queues.trim(queue);
      return false;
    }
    void worker.deliver(queue, at);
    return queue.hasMore;
  };

  const mayRun = (priority: Priority): boolean =>
    !isHeld() &&
    ownership.hasLease() &&
    recorder.unrecorded < maxUnrecorded &&
    worker.inFlight < connections &&
    worker.inFlightFrom(priority) < connections * connectionPart[priority];

  return {
    async run(signal) {
      await ownership.join(endpoints);
      scheduler.start({ step, mayRun, signal });
      await aborted(signal);
      for (const queue of queues.all()) queue.setTimer(null);
      const left = ownership.leave();
      await worker.idle();
      recorder.giveUp();
      await recorder.settled();
      await left;
      queues.clear();
    },
    ...endpoints.requests,
    reserve: intake.reserve,
    resume: () => scheduler.resume(),
    isHeldUp: (applicationId) => queues.find(applicationId)?.isHeldUp(now()) ?? false,
    get stats() {
      const at = now();
      const all = [...queues.all()];
      const heldUp = all.filter((queue) => queue.isHeldUp(at)).length;
      const isWaiting = (queue: EndpointQueue) =>
        scheduler.isPending(queue) || queue.isLookingUp || queue.isClaiming;
      const waiting = all.filter(isWaiting).length;
      const { inFlight } = worker;
      const { queued } = capacity;
      const { counts } = counter;
      return { inFlight, queued, unrecorded: recorder.unrecorded, heldUp, waiting, counts };
    },
  };
}

/** Resolves when the signal is aborted. */
async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
