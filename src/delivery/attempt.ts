import type { KeyObject } from "node:crypto";
import { type Recipient, usesOnlyStream } from "../domain/applications.ts";
import type { AttemptResult, DueDelivery } from "../domain/deliveries.ts";
import type { AttemptTraces } from "../runtime/tracing/attempts.ts";
import type { ActiveSpan } from "../runtime/tracing/tracer.ts";
import type { EndpointQueue, InFlightAttempt } from "./endpoint.ts";
import { type EndedAttempt, type Ending, endedWithoutAttempt, judge, notSent } from "./judge.ts";
import type { Notices } from "./notices.ts";
import type { DeliveryContext, DeliveryIntake } from "./queue.ts";
import { type DeliveryCounter, type EndedDelivery, recordEndpoint } from "./record.ts";
import type { Priority } from "./scheduler.ts";
import { keptBytes, type Sender, type SendResult } from "./send/send.ts";
import { withoutHeaderValues } from "./shown-response.ts";
import { signedRequest } from "./signature.ts";

/** What making attempts needs from outside the delivery. */
export interface AttemptOptions {
  readonly sender: Pick<Sender, "send">;
  readonly signingKey: KeyObject;
  /** Makes the notices about endpoints. */
  readonly notices: Notices;
  /** Traces attempts; null while tracing is off. */
  readonly traces: AttemptTraces | null;
  /** Returns a number from 0 to 1, for the jitter of retries. */
  readonly random: () => number;
  /** Called with the application when the result of a requested delivery is on disk. */
  readonly requestRecorded: (applicationId: string) => void;
  /** Called with the outcome of each attempt, and of each delivery that ends without one. */
  readonly ended: (outcome: EndedDelivery) => void;
}

interface WorkerOptions extends AttemptOptions {
  readonly intake: Pick<DeliveryIntake, "recall">;
  readonly counter: DeliveryCounter;
  /** Corrects the times of all queues after the system clock was set. */
  readonly checkClock: () => void;
}

/** Makes the attempts of all endpoints. */
interface Worker {
  /** The number of attempts in progress. */
  readonly inFlight: number;
  /** The number of attempts in progress that began with this priority or a less urgent one. */
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

/** Stages that can fail in this process; the log names the one that did. The recorder retries its own failures. */
type FallibleStage = "sign" | "send";

export function createWorker(context: DeliveryContext, options: WorkerOptions): Worker {
  const { ownership, capacity, scheduler, recorder, log, now } = context;
  const { sender, signingKey, intake, counter, traces, notices, random, checkClock } = options;
  let inFlight = 0;
  const inFlightOf: Record<Priority, number> = { new: 0, bulk: 0, backlog: 0 };
  let whenIdle: (() => void) | null = null;

  const deliver = async (queue: EndpointQueue, startedAt: number): Promise<void> => {
    const started = take(queue, startedAt);
    if (started === null) return;
    const { attempt, span } = started;
    const { delivery, recipient } = attempt;

    let sent: SendResult;
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
    } catch (error) {
      // It counts as an attempt, so that the retry schedule advances and the delivery ends at some time.
      log.failure("attempt_failed", error, { delivery_id: delivery.id, stage });
      sent = notSent;
    }
    end(attempt);

    if (sent.class === "canceled") return returnUnsent(queue, attempt.delivery);

    checkClock();
    const ended = endedAttempt(attempt);
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

  /** Records a result. Resolves when it is on disk, and reports that if the delivery was requested. */
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
   * Handles a canceled attempt, whose request was not written. Either this process is stopping; then the next one sends
   * the delivery. Or, while connecting, the endpoint got another owner, its application changed (for example a rotated
   * secret), or the subscription was removed. Then the whole queue is written back to the store, with the deliveries
   * that are being claimed, so that none of them overtakes this one.
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
        // An event may have many deliveries.
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

  const endedAttempt = ({ recipient, startedAt, isFormer }: InFlightAttempt): EndedAttempt => {
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

/** Returns the final state of a delivery that must not be sent; null if it is to be sent. */
function endingOf(
  { isSubscribed, expires_at, event }: DueDelivery,
  recipient: Recipient | null | undefined,
  at: number,
): Ending | null {
  if (!recipient || !isSubscribed) return "canceled";
  // The event stream has it, and there is no webhook: nothing else is left to deliver, also for a requested retry.
  if (usesOnlyStream(recipient)) return "delivered";
  if (expires_at !== null && expires_at <= at) return "expired";
  return event.body.length === 0 ? "failed" : null;
}
