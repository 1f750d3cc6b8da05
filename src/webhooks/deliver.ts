import type { KeyObject } from "node:crypto";
import { type Recipient, usesOnlyStream } from "../domain/applications.ts";
import type { AttemptResult, DueDelivery } from "../domain/deliveries.ts";
import { errorFields } from "../log/log.ts";
import type { AttemptTraces } from "../tracing/attempts.ts";
import type { ActiveSpan } from "../tracing/tracer.ts";
import { signedRequest } from "./attempt.ts";
import type { Sender, SendResult } from "./client/sender.ts";
import type { DeliveryCounter, EndedDelivery } from "./counts.ts";
import type { DispatcherContext } from "./dispatcher-context.ts";
import { updateEndpoint } from "./health.ts";
import type { DeliveryIntake } from "./intake.ts";
import { type EndedAttempt, type Ending, endedWithoutAttempt, judge, notSent } from "./judge.ts";
import type { Notices } from "./notices/notice.ts";
import type { EndpointQueue, UnderWay } from "./queues/endpoint-queue.ts";
import type { Pace } from "./queues/pace.ts";
import type { Priority } from "./queues/scheduler.ts";
import { isOverloaded } from "./retry.ts";

interface DeliveryOptions {
  readonly sender: Pick<Sender, "send">;
  readonly signingKey: KeyObject;
  readonly intake: Pick<DeliveryIntake, "recall" | "unload">;
  readonly counter: DeliveryCounter;
  /** null: nothing is traced. */
  readonly traces: AttemptTraces | null;
  /** Called with what became of each delivery or attempt. */
  readonly ended: (outcome: EndedDelivery) => void;
  /** Called when what became of a delivery that was asked for is on disk. */
  readonly sentAgain?: (applicationId: string) => void;
  readonly notices: Notices;
  readonly random: () => number;
  /** Corrects all queues when the clock was set. */
  readonly checkClock: () => void;
}

/** Makes attempts. */
interface DeliveryWorker {
  /** Attempts under way. */
  readonly inFlight: number;
  /** Those of them that began with this priority or with a less urgent one. */
  inFlightFrom(priority: Priority): number;
  /** Brings the next delivery of a queue to its record: take → sign → send → judge → record. Never rejects. */
  deliver(queue: EndpointQueue, startedAt: number): Promise<void>;
  /** Resolves when no attempt is under way. */
  idle(): Promise<void>;
}

interface StartedAttempt extends UnderWay {
  readonly queue: EndpointQueue;
  readonly recipient: Recipient;
  /** Of the generation that it is sent to, which may be over when it ends. */
  readonly pace: Pace;
  /** Of the queue when it began. */
  readonly priority: Priority;
  readonly startedAt: number;
  /** null where nothing is traced. */
  readonly span: ActiveSpan | null;
}

/** The stages that can fail on this side; the log names the one that did. Recording is tried again by the recorder. */
type FallibleStage = "sign" | "send";

export function createDeliveryWorker(context: DispatcherContext, options: DeliveryOptions): DeliveryWorker {
  const { ownership, capacity, scheduler, recorder, log, now } = context;
  const { sender, signingKey, intake, counter, traces, notices, random, checkClock } = options;
  let inFlight = 0;
  const inFlightOf: Record<Priority, number> = { new: 0, bulk: 0, backlog: 0 };
  let whenIdle: (() => void) | null = null;

  /** Whether the endpoint of a queue is this process's own at this moment. */
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
      sent = await sender.send({ ...request, mayBeSent: () => !attempt.isOutdated && maySend(queue) });
    } catch (error) {
      // The attempt counts, so that the schedule goes on and the delivery comes to an end.
      log.error("attempt_failed", { delivery_id: delivery.id, stage, ...errorFields(error) });
      sent = notSent;
    }
    end(attempt);

    if (sent.class === "canceled") return notSentNow(queue, attempt.delivery);

    checkClock();
    const ended = endedAttempt(attempt);
    const result = judge(delivery, sent, ended);
    report(attempt, sent, result);
    queue.unrecorded++;
    const isAsked = delivery.resume_at !== null;
    const recorded = recorder.add(result, isAsked);
    // An outcome counts for the URL that was called, and not against what a person has changed since.
    if (!ended.isFormer && !queue.isLost) learn(queue, sent, ended);
    if (queue.hasMore) scheduler.add(queue);
    else scheduler.resume();

    await recorded;
    queue.recorded(result, now());
    if (isAsked) options.sentAgain?.(queue.applicationId);
    scheduler.add(queue);
  };

  /**
   * It was not sent: this process stops, then the next one sends it; or another process may be the owner of the endpoint
   * by now; or while it was connected to, its application has changed, as by a rotated secret, or the subscription was
   * removed. Then all of the queue goes back into the store, also what is being claimed, so that nothing overtakes it.
   */
  const notSentNow = (queue: EndpointQueue, delivery: DueDelivery): void => {
    if (scheduler.isRunning) {
      capacity.add([delivery], true);
      queue.deliveries.push(delivery);
      intake.recall(queue);
    }
    scheduler.add(queue);
  };

  /** Takes the next delivery out of its queue. null: there is none, or it has ended without an attempt. */
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
        log.error("event_body_damaged", { delivery_id: delivery.id, event_id: delivery.event.id });
      noteEnd({ delivery, result, sent: null, traceId: null });
      void recorder.add(result);
      return null;
    }
    pace.inFlight++;
    inFlight++;
    inFlightOf[priority]++;
    const span = traces?.begin(delivery) ?? null;
    const attempt = { queue, delivery, isOutdated: false, recipient, pace, priority, startedAt, span };
    queue.underWay.add(attempt);
    return attempt;
  };

  const end = (attempt: StartedAttempt): void => {
    attempt.pace.inFlight--;
    attempt.queue.underWay.delete(attempt);
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

  /** One wide line in the log, the counts, and the span. */
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

  /** Adjusts the pace, and the state of the endpoint; one that is held up now keeps no deliveries in memory. */
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
    if (queue.isHeldUp(endedAt)) intake.unload(queue);
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

/** How a delivery ends without an attempt; null: it is to be sent. */
function endingOf(
  { isWanted, expires_at, event }: DueDelivery,
  recipient: Recipient | null | undefined,
  at: number,
): Ending | null {
  if (!recipient || !isWanted) return "canceled";
  // It can be read from the stream, which is all there is to deliver, also when it was asked for once more.
  if (usesOnlyStream(recipient)) return "delivered";
  if (expires_at !== null && expires_at <= at) return "expired";
  return event.body.length === 0 ? "failed" : null;
}
