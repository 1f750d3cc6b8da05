import type { KeyObject } from "node:crypto";
import { type Recipient, receives, recipientOf, usesOnlyStream } from "../domain/applications.ts";
import type { AttemptResult, DueDelivery, FailedExchange } from "../domain/deliveries.ts";
import { minute, second } from "../domain/time.ts";
import { systemTimers, type Timers } from "../runtime/event-loop.ts";
import type { ActiveSpan, AttemptTraces } from "../runtime/tracing.ts";
import type { EndpointQueue, InFlightAttempt } from "./endpoint.ts";
import { type Ending, endedWithoutAttempt, judge, notSent } from "./judge.ts";
import type { Notices } from "./notices.ts";
import { createEndpointOwnership, type EndpointRequests } from "./ownership.ts";
import {
  createDeliveryIntake,
  type DeliveryContext,
  type DeliveryIntake,
  EndpointQueues,
  type Reservation,
} from "./queue.ts";
import {
  type Counts,
  createRecorder,
  DeliveryCounter,
  type EndedDelivery,
  recordEndpoint,
} from "./record.ts";
import { Alarms, MemoryCapacity, type Priority, Scheduler } from "./scheduler.ts";
import { keptBytes, type Sender, type SendResult } from "./send/send.ts";
import { keptExchange, withoutHeaderValues } from "./shown-response.ts";
import { signedRequest } from "./signature.ts";

/*
 * Attempts: when the next one of an endpoint begins (the dispatcher), and what happens in it (the runner):
 * take → sign → send → judge → record.
 */

/** What making attempts needs from outside the delivery. */
interface AttemptOptions {
  readonly sender: Pick<Sender, "send">;
  /** Whether the sender uses an egress proxy. */
  readonly isProxied: boolean;
  readonly signingKey: KeyObject;
  /** Makes the notices about endpoints. */
  readonly notices: Notices;
  /** Traces attempts; null while tracing is off. */
  readonly traces: AttemptTraces | null;
  /** Returns a number from 0 to 1, for the jitter of retries. */
  readonly random: () => number;
  /** Called with the application when the result of a requested delivery is on disk. */
  readonly requestRecorded: (applicationId: string) => void;
  /** Called with the outcome of each attempt, and of each delivery that ends without an attempt. */
  readonly ended: (outcome: EndedDelivery) => void;
}

interface DispatcherOptions
  extends AttemptOptions,
    Pick<DeliveryContext, "store" | "ownership" | "log" | "now"> {
  /** A clock that is never set; it shows when the clock `now` was. */
  readonly monotonic: () => number;
  /** The timers of waits; by default the system's. */
  readonly timers?: Timers | undefined;
  /** Concurrent attempts per endpoint, unless its application sets another number. */
  readonly concurrency: number;
  /** Connections for all endpoints together. */
  readonly connections: number;
  /** Whether sending is suspended; the owner of the flag calls `resume` when that ends. */
  readonly isHeld: () => boolean;
  /** Called when a person requested deliveries from another process for an endpoint of this process. */
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
/** The share of connections for a priority and all less urgent priorities. The rest is for more urgent priorities. */
const connectionPart: Readonly<Record<Priority, number>> = { new: 1, bulk: 7 / 8, backlog: 1 / 2 };
/** The wait after a failed look-up. */
const lookUpAgainAfterMs = second;
/** A smaller difference between the two clocks is an adjustment (slew), or a busy machine. */
const leastClockJumpMs = minute;

/**
 * Creates the dispatcher, which sends deliveries that are due. Deliveries that were just published come from memory
 * (`queue.ts`); all others are claimed from the store. The runner makes the attempts.
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
  /** Shifts the times of all endpoints when the system clock was set, because those times stand for elapsed time. */
  const checkClock = (): void => {
    // Whole milliseconds, because the store takes no others: a monotonic clock has fractions.
    const ms = Math.round(now() - monotonic() - clockOffset);
    clockOffset += ms;
    if (Math.abs(ms) < leastClockJumpMs) return;
    log.warn("clock_jumped", { by_ms: ms });
    for (const queue of queues.all()) {
      const endpoint = queue.shiftClock(ms);
      if (endpoint) recorder.addEndpoint(endpoint);
      scheduler.add(queue);
    }
    if (ms < 0) endpoints.clockSetBack();
  };

  const runner = createRunner(context, { ...options, intake, counter, checkClock });

  /** Looks up the subscriptions of attempts in doubt. Marks the deliveries whose subscription was removed. */
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

  /** Does one step for a queue. Returns false when no attempt can start until the queue is scheduled again. */
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
        if (queue.exceedsShare(connections - runner.inFlight)) break;
        void runner.deliver(queue, at);
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
    runner.inFlight < connections &&
    runner.inFlightFrom(priority) < connections * connectionPart[priority];

  return {
    async run(signal) {
      await ownership.join(endpoints);
      scheduler.start({ step, mayRun, signal });
      await aborted(signal);
      alarms.clearAll();
      const left = ownership.leave();
      await runner.idle();
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
      const { inFlight } = runner;
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

interface RunnerOptions extends AttemptOptions {
  readonly intake: Pick<DeliveryIntake, "recall">;
  readonly counter: DeliveryCounter;
  /** Corrects the times of all queues after the system clock was set. */
  readonly checkClock: () => void;
}

/** Makes the attempts of all endpoints. */
interface Runner {
  /** The number of attempts in progress. */
  readonly inFlight: number;
  /** The number of attempts in progress that began with this or a less urgent priority. */
  inFlightFrom(priority: Priority): number;
  /** Processes the next delivery of a queue: take → sign → send → judge → record. Never rejects. */
  deliver(queue: EndpointQueue, startedAt: number): Promise<void>;
  /** Resolves when no attempt is in progress. */
  idle(): Promise<void>;
}

/** An attempt that this process makes. */
interface StartedAttempt {
  readonly attempt: InFlightAttempt;
  /** null while tracing is off. */
  readonly span: ActiveSpan | null;
}

/** Stages that can fail in this process; the log names the failed stage. The recorder retries its own failures. */
type FallibleStage = "sign" | "send";

function createRunner(context: DeliveryContext, options: RunnerOptions): Runner {
  const { ownership, capacity, scheduler, recorder, log, now } = context;
  const { sender, isProxied, signingKey, intake, counter, traces, notices, random, checkClock } = options;
  let inFlight = 0;
  const inFlightOf: Record<Priority, number> = { new: 0, bulk: 0, backlog: 0 };
  let whenIdle: (() => void) | null = null;

  const deliver = async (queue: EndpointQueue, startedAt: number): Promise<void> => {
    const started = take(queue, startedAt);
    if (started === null) return;
    const { attempt, span } = started;
    const { delivery, recipient } = attempt;

    let sent: SendResult;
    let exchange: FailedExchange | null = null;
    let stage: FallibleStage = "sign";
    try {
      const request = signedRequest(delivery, recipient, signingKey, startedAt);
      if (span) traces?.addHeader(request.headers, span);
      stage = "send";
      const result = await sender.send({
        ...request,
        mayBeSent: () => attempt.mayBeWritten && ownership.hasLease() && ownership.holds(queue.applicationId),
        connecting: (cancel) => attempt.connecting(cancel),
      });
      sent = withoutHeaderValues(result, recipient.webhook_headers, keptBytes);
      exchange = keptExchange(result, request, recipient.webhook_headers, isProxied);
    } catch (error) {
      // A failure in this process counts as an attempt, so that the schedule advances and the delivery ends at some
      // time.
      log.failure("attempt_failed", error, { delivery_id: delivery.id, stage });
      sent = notSent;
    }
    end(attempt);

    if (sent.class === "canceled") return returnUnsent(queue, attempt.delivery);

    checkClock();
    const ended = { ...endedAttempt(attempt), exchange };
    const { endedAt: at, random } = ended;
    const result = judge(delivery, sent, ended);
    report(started, sent, result);
    queue.expectResult();
    const recorded = record(queue, delivery, result);
    const learned = queue.learn(attempt, sent, at, random);
    if (learned) {
      recordEndpoint({ queue, learned, sent, at }, { recorder, notices, log });
      if (learned.notice) counter.notice(learned.notice);
      if (queue.isSuspended(at)) intake.recall(queue);
    }
    if (queue.hasMore) scheduler.add(queue);
    else scheduler.resume();

    await recorded;
    queue.noteRecorded(result, now());
    scheduler.add(queue);
  };

  /** Records a result. Resolves when the result is on disk. Calls `requestRecorded` if the delivery was requested. */
  const record = async (
    { applicationId }: EndpointQueue,
    { resume_at }: DueDelivery,
    result: AttemptResult,
  ): Promise<void> => {
    const isRequested = resume_at !== null;
    await recorder.add(result, isRequested);
    if (isRequested) options.requestRecorded(applicationId);
  };

  /**
   * Handles a canceled attempt, whose request was not written. If this process is stopping, the next one sends the
   * delivery. Otherwise, while connecting, the endpoint got another owner, the application changed (for example a
   * rotated secret), or the subscription was removed. Then the whole queue is written back to the store, with the
   * deliveries that are being claimed, so that no delivery overtakes this one.
   */
  const returnUnsent = (queue: EndpointQueue, delivery: DueDelivery): void => {
    if (scheduler.isRunning) {
      capacity.add([delivery], true);
      queue.add(delivery);
      intake.recall(queue);
    }
    scheduler.add(queue);
  };

  /**
   * Takes the next delivery and begins its attempt. Returns null if there is none, or if it ends without an attempt.
   */
  const take = (queue: EndpointQueue, startedAt: number): StartedAttempt | null => {
    const { priority } = queue;
    const delivery = queue.take();
    if (!delivery) return null;
    capacity.free([delivery]);
    const { recipient, generation } = queue;
    const ending = endingOf(delivery, recipient, startedAt);
    if (ending || !recipient) {
      const result = endedWithoutAttempt(delivery, ending ?? "canceled", startedAt, generation ?? 0);
      if (ending === "failed")
        // Logged once for an event, which may have many deliveries.
        log.repeated("error", "event_body_damaged", delivery.event.id, {
          delivery_id: delivery.id,
          event_id: delivery.event.id,
        });
      noteEnd({ delivery, result, sent: null, traceId: null });
      void record(queue, delivery, result);
      return null;
    }
    inFlight++;
    inFlightOf[priority]++;
    const span = traces?.begin(delivery) ?? null;
    return { attempt: queue.begin(delivery, recipient, priority, startedAt), span };
  };

  const end = (attempt: InFlightAttempt): void => {
    attempt.queue.end(attempt);
    inFlight--;
    inFlightOf[attempt.priority]--;
    if (inFlight === 0) whenIdle?.();
  };

  const endedAttempt = ({ recipient, startedAt, isFormer }: InFlightAttempt) => {
    const generation = recipient.endpoint_generation;
    return { startedAt, endedAt: now(), generation, isFormer, random: random() };
  };

  const noteEnd = (outcome: EndedDelivery): void => {
    counter.ended(outcome, now());
    options.ended(outcome);
  };

  /** Reports an attempt that has ended: to the log, in one line, to the counters, and to the tracer. */
  const report = ({ attempt, span }: StartedAttempt, sent: SendResult, result: AttemptResult): void => {
    const { delivery, recipient } = attempt;
    const { class: outcome, status, error } = sent;
    const traceId = span?.sampledTraceId ?? null;
    log.info("delivery", {
      delivery_id: delivery.id,
      subscription_id: delivery.subscription_id,
      application_id: delivery.application_id,
      type: delivery.event.name,
      attempt: result.attempts,
      outcome,
      status,
      duration_ms: sent.durationMs,
      error,
      decision: result.status === "pending" ? "retry" : result.status,
      ...(traceId !== null && { trace_id: traceId }),
    });
    if (span) traces?.end(span, { delivery, url: recipient.webhook_url, outcome, status, error });
    noteEnd({ delivery, result, sent, traceId });
  };

  return {
    get inFlight() {
      return inFlight;
    },
    inFlightFrom(priority) {
      if (priority === "new") return inFlight;
      return priority === "bulk" ? inFlightOf.bulk + inFlightOf.backlog : inFlightOf.backlog;
    },
    deliver,
    async idle() {
      if (inFlight === 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      whenIdle = resolve;
      await promise;
    },
  };
}

/** Returns the final state of a delivery that must not be sent; null for a delivery to send. */
function endingOf(
  { isSubscribed, expires_at, event }: DueDelivery,
  recipient: Recipient | null | undefined,
  at: number,
): Ending | null {
  if (!recipient || !isSubscribed) return "canceled";
  // The event stream has the event, and there is no webhook: nothing is left to deliver, also for a requested retry.
  if (usesOnlyStream(recipient)) return "delivered";
  if (expires_at !== null && expires_at <= at) return "expired";
  return event.body.length === 0 ? "failed" : null;
}
