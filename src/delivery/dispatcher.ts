import { receives, recipientOf } from "../domain/applications.ts";
import { minute, second } from "../domain/time.ts";
import { systemTimers, type Timers } from "../runtime/timers.ts";
import { type AttemptOptions, createWorker } from "./attempt.ts";
import type { EndpointQueue } from "./endpoint.ts";
import { createEndpointOwnership, type EndpointRequests } from "./ownership.ts";
import { createDeliveryIntake, type DeliveryContext, EndpointQueues, type Reservation } from "./queue.ts";
import { type Counts, createRecorder, DeliveryCounter } from "./record.ts";
import { Alarms, MemoryCapacity, type Priority, Scheduler } from "./scheduler.ts";

interface DispatcherOptions
  extends AttemptOptions,
    Pick<DeliveryContext, "store" | "ownership" | "log" | "now"> {
  /** A clock that is never set; it shows when the other one was. */
  readonly monotonic: () => number;
  /** By default the system's. */
  readonly timers?: Timers | undefined;
  /** Concurrent attempts per endpoint, unless its application sets another number. */
  readonly concurrency: number;
  /** Connections for all endpoints together. */
  readonly connections: number;
  /** Whether sending is suspended; the owner of the flag calls `resume` when that ends. */
  readonly isHeld: () => boolean;
  /** Called when a user requested deliveries (a retry or replay) from another process for an endpoint of this one. */
  readonly requested: () => void;
  /** Called with the applications whose endpoints have new notices. */
  readonly noticed: (applicationIds: readonly string[]) => void;
  /** How long results are gathered before they are recorded; by default the recorder's own times. */
  readonly gatherMs?: number | undefined;
}

export interface Dispatcher extends EndpointRequests {
  /** Delivers until the signal is aborted. Resolves when no attempt is in progress and results are recorded. */
  run(signal: AbortSignal): Promise<void>;
  /** Reserves memory for deliveries that are about to be published. */
  reserve(): Reservation;
  /** Continues after `isHeld` has become false. */
  resume(): void;
  /** Whether sending to an application is suspended: its endpoint is disabled, paused, or its circuit is open. */
  isSuspended(applicationId: string): boolean;
  readonly stats: DispatcherStats;
  /** For how long the results that are being recorded have been tried; 0 for none. */
  readonly recordingMs: number;
}

/** The current load of the dispatcher, and its counters since the start. */
export interface DispatcherStats {
  readonly inFlight: number;
  /** Deliveries in memory whose attempt has not begun. */
  readonly queued: number;
  /** Results that are not on disk yet. */
  readonly unrecorded: number;
  /** Endpoints that are disabled, paused, or have an open circuit. */
  readonly suspended: number;
  /** Endpoint queues that are scheduled, or whose state or deliveries are being read from the store. */
  readonly waiting: number;
  readonly counts: Counts;
}

/** Backpressure: no attempt begins while this many results are not on disk, because the disk is full or slow. */
const maxUnrecorded = 4_096;
/** The share of connections for deliveries of a priority and all less urgent ones. The rest is for more urgent ones. */
const connectionPart: Readonly<Record<Priority, number>> = { new: 1, bulk: 7 / 8, backlog: 1 / 2 };
const lookUpAgainAfterMs = second;
/** A smaller difference between the clocks is an adjustment (slew), or a busy machine. */
const leastClockJumpMs = minute;

/**
 * Creates the dispatcher, which sends deliveries that are due. Deliveries that were just published come from memory
 * (`queue.ts`); all others are claimed from the store. `attempt.ts` processes one delivery.
 *
 * The dispatcher has no state that must survive: a delivery without a recorded result is still pending in the store,
 * and the next process sends it again under the same id.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, ownership, log, now, monotonic, isHeld, concurrency, connections, noticed, gatherMs } =
    options;
  const { timers = systemTimers } = options;
  const counter = new DeliveryCounter();
  const queues = new EndpointQueues(concurrency);
  const scheduler = new Scheduler<EndpointQueue>((queue) => queue.priority, monotonic);
  const alarms = new Alarms<EndpointQueue>((queue) => scheduler.add(queue), timers);
  const capacity = new MemoryCapacity<EndpointQueue>((queue) => scheduler.add(queue));
  const recorder = createRecorder({
    store,
    log,
    progressed: () => scheduler.resume(),
    noticed,
    gatherMs,
    timers,
    monotonic,
  });
  const context: DeliveryContext = {
    store,
    ownership,
    queues,
    capacity,
    scheduler,
    alarms,
    recorder,
    log,
    now,
    timers,
  };
  const intake = createDeliveryIntake(context);
  const endpoints = createEndpointOwnership(context, intake, options.requested);
  let clockOffset = now() - monotonic();
  /** Shifts the times of all endpoints when the system clock was set: they stand for elapsed time. */
  const checkClock = (): void => {
    const ms = now() - monotonic() - clockOffset;
    clockOffset += ms;
    if (Math.abs(ms) < leastClockJumpMs) return;
    log.warn("clock_jumped", { by_ms: Math.round(ms) });
    for (const queue of queues.all()) {
      const endpoint = queue.shiftClock(ms);
      if (endpoint) recorder.addEndpoint(endpoint);
      scheduler.add(queue);
    }
    if (ms < 0) endpoints.clockSetBack();
  };

  const worker = createWorker(context, { ...options, intake, counter, checkClock });

  /** Marks the deliveries of attempts that may be outdated whose subscription was removed. */
  const lookUpSubscriptions = async ({ applicationId: application_id, attempts }: EndpointQueue) => {
    const outdated = [...attempts].filter((attempt) => attempt.isInDoubt);
    const ids = [...new Set(outdated.map(({ delivery }) => delivery.subscription_id))];
    const found = await Promise.all(ids.map((id) => store.subscriptions.find(application_id, id)));
    intake.subscriptionsRemoved({ application_id, ids: ids.filter((_, i) => found[i] === null) });
  };

  const lookUp = async (queue: EndpointQueue): Promise<void> => {
    const { applicationId } = queue;
    const begun = queue.beginLookUp();
    if (begun === null) return;
    try {
      const application = await store.applications.find(applicationId);
      const endpoint = await store.endpoints.find(applicationId);
      await lookUpSubscriptions(queue);
      const recipient = application && receives(application) ? recipientOf(application) : null;
      // If the application has changed meanwhile, the result is outdated, and the next step looks it up again.
      queue.lookedUp(begun, recipient, endpoint, now());
      if (queue.isSuspended(now())) intake.recall(queue);
      scheduler.add(queue);
    } catch (error) {
      log.failure("look_up_failed", error, { application_id: applicationId });
      alarms.set(queue, lookUpAgainAfterMs);
    } finally {
      queue.endLookUp();
    }
  };

  /** Starts one delivery of a queue. Returns false when no more can start until the queue is scheduled again. */
  const step = (queue: EndpointQueue): boolean => {
    if (!ownership.holds(queue.applicationId)) return false;
    checkClock();
    const at = now();
    if (queue.needsClaim(at)) void intake.claim(queue);
    const state = queue.state(at);
    switch (state) {
      case "lost":
      case "claiming":
        return false;
      case "unknown":
        void lookUp(queue);
        return false;
      case "ready":
        // One endpoint gets at most half of the free connections, so that slow endpoints do not take all of them.
        if (queue.exceedsShare(connections - worker.inFlight)) break;
        void worker.deliver(queue, at);
        return queue.hasMore;
    }
    const wakeAt = queue.wakeAt();
    if (wakeAt === null) alarms.clear(queue);
    else alarms.set(queue, wakeAt - at);
    if (state === "idle") queues.trim(queue);
    return false;
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
      alarms.clearAll();
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
    isSuspended: (applicationId) => queues.find(applicationId)?.isSuspended(now()) ?? false,
    get recordingMs() {
      return recorder.writingMs;
    },
    get stats() {
      const at = now();
      const all = [...queues.all()];
      const suspended = all.filter((queue) => queue.isSuspended(at)).length;
      const waiting = all.filter((queue) => scheduler.isPending(queue) || queue.isReading).length;
      const { inFlight } = worker;
      const { queued } = capacity;
      const { counts } = counter;
      return { inFlight, queued, unrecorded: recorder.unrecorded, suspended, waiting, counts };
    },
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
