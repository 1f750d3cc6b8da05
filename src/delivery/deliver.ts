import { type Recipient, usesOnlyStream } from "../domain/applications.ts";
import type { AttemptResult, DueDelivery } from "../domain/deliveries.ts";
import type { ActiveSpan } from "../runtime/tracing/tracer.ts";
import { signedRequest } from "./attempt.ts";
import type { DeliveryCounter, EndedDelivery } from "./counts.ts";
import type { DispatcherContext, DispatcherOptions } from "./dispatcher-context.ts";
import type { EndpointQueue, InFlightAttempt } from "./endpoint.ts";
import type { DeliveryIntake } from "./intake.ts";
import { type EndedAttempt, type Ending, endedWithoutAttempt, judge, notSent } from "./judge.ts";
import type { Pace } from "./pace.ts";
import type { Priority } from "./queue.ts";
import { updateEndpoint } from "./record.ts";
import { isOverloaded } from "./retry.ts";
import { keptBytes, type SendResult } from "./send/send.ts";
import { withoutHeaderValues } from "./shown-response.ts";

interface DeliveryOptions
  extends Pick<
    DispatcherOptions,
    "sender" | "signingKey" | "traces" | "ended" | "requestRecorded" | "notices" | "random"
  > {
  readonly intake: Pick<DeliveryIntake, "recall">;
  readonly counter: DeliveryCounter;
  /** Corrects the times of all queues after the system clock was set. */
  readonly checkClock: () => void;
}

/** Makes the attempts of all endpoints. */
interface DeliveryWorker {
  /** The number of attempts in progress. */
  readonly inFlight: number;
  /** The number of attempts in progress that began with this priority or a less urgent one. */
  inFlightFrom(priority: Priority): number;
  /** Processes the next delivery of a queue: take → sign → send → judge → record. Never rejects. */
  deliver(queue: EndpointQueue, startedAt: number): Promise<void>;
  /** Resolves when no attempt is in progress. */
  idle(): Promise<void>;
}

interface StartedAttempt extends InFlightAttempt {
  readonly queue: EndpointQueue;
  /** The pace of the endpoint generation at the start. The queue may have a newer one when the attempt ends. */
  readonly pace: Pace;
  /** The priority of the queue at the start. */
  readonly priority: Priority;
  readonly startedAt: number;
  /** null while tracing is off. */
  readonly span: ActiveSpan | null;
}

/** Stages that can fail in this process; the log names the one that did. The recorder retries its own failures. */
type FallibleStage = "sign" | "send";

export function createDeliveryWorker(context: DispatcherContext, options: DeliveryOptions): DeliveryWorker {
  const { ownership, capacity, scheduler, recorder, log, now } = context;
  const { sender, signingKey, intake, counter, traces, notices, random, checkClock } = options;
  let inFlight = 0;
  const inFlightOf: Record<Priority, number> = { new: 0, bulk: 0, backlog: 0 };
  let whenIdle: (() => void) | null = null;

  /** Whether this process owns the endpoint of a queue at this moment. */
  const maySend = (queue: EndpointQueue): boolean =>
    !queue.isLost && ownership.hasLease() && ownership.holds(queue.applicationId);

  const deliver = async (queue: EndpointQueue, startedAt: number): Promise<void> => {
    const attempt = take(queue, startedAt);
    if (attempt === null) return;
    const { delivery, recipient, span } = attempt;

    let sent: SendResult;
    let stage: FallibleStage = "sign";
    try {
      const request = signedRequest(delivery, recipient, signingKey, startedAt);
      if (span) traces?.addHeader(request.headers, span);
      stage = "send";
      const result = await sender.send({
        ...request,
        mayBeSent: () => !attempt.isOutdated && !attempt.mayBeOutdated && maySend(queue),
        connecting(cancel) {
          attempt.cancel = cancel;
        },
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
    const result = judge(delivery, sent, ended);
    report(attempt, sent, result);
    queue.unrecorded++;
    const recorded = record(queue, delivery, result);
    // An outcome belongs to the URL that was called: it must not change the state of a newer endpoint generation.
    if (!ended.isFormer && !queue.isLost) learn(queue, sent, ended);
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
      queue.deliveries.push(delivery);
      intake.recall(queue);
    }
    scheduler.add(queue);
  };

  /**
   * Takes the next delivery and begins its attempt. Returns null if there is none, or if it ends without an attempt.
   */
  const take = (queue: EndpointQueue, startedAt: number): StartedAttempt | null => {
    const { priority } = queue;
    const delivery = queue.deliveries.shift();
    if (!delivery) return null;
    capacity.free([delivery]);
    const { recipient, pace, generation } = queue;
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
    pace.inFlight++;
    inFlight++;
    inFlightOf[priority]++;
    const span = traces?.begin(delivery) ?? null;
    const state = { isOutdated: false, mayBeOutdated: false, cancel: null };
    const attempt: StartedAttempt = { queue, delivery, ...state, recipient, pace, priority, startedAt, span };
    queue.attemptsInFlight.add(attempt);
    return attempt;
  };

  const end = (attempt: StartedAttempt): void => {
    attempt.pace.inFlight--;
    attempt.queue.attemptsInFlight.delete(attempt);
    inFlight--;
    inFlightOf[attempt.priority]--;
    if (inFlight === 0) whenIdle?.();
  };

  const endedAttempt = ({ queue, recipient, startedAt }: StartedAttempt): EndedAttempt => {
    const generation = recipient.endpoint_generation;
    const isFormer = generation !== queue.generation;
    return { startedAt, endedAt: now(), generation, isFormer, random: random() };
  };

  const noteEnd = (outcome: EndedDelivery): void => {
    counter.ended(outcome, now());
    options.ended(outcome);
  };

  /** Reports an attempt that has ended: to the log, in one line, to the counters, and to the tracer. */
  const report = (attempt: StartedAttempt, sent: SendResult, result: AttemptResult): void => {
    const { delivery, recipient, span } = attempt;
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

  /** Updates the pace and the state of the endpoint. If that holds it up, its deliveries leave memory. */
  const learn = (
    queue: EndpointQueue,
    sent: SendResult,
    { startedAt, endedAt, random }: EndedAttempt,
  ): void => {
    queue.pace.learn({
      startedAt,
      at: endedAt,
      isSuccess: sent.class === "ok",
      isThrottled: isOverloaded(sent.status),
      retryAfterMs: sent.retryAfterMs,
      random,
    });
    const notice = updateEndpoint(queue, sent, endedAt, { recorder, notices, log });
    if (notice) counter.notice(notice);
    if (queue.isHeldUp(endedAt)) intake.recall(queue);
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
