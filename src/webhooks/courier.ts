import type { KeyObject } from "node:crypto";
import { type Recipient, usesOnlyStream } from "../domain/applications.ts";
import type { DueDelivery } from "../domain/deliveries.ts";
import { errorFields, type Log } from "../log.ts";
import { logAttempt, notMade, putBack, requestOf, resultOf, type Unsent, unsent } from "./attempt.ts";
import type { Sender, SendResult } from "./client/sender.ts";
import { type Counts, countNotice, countResult } from "./counts.ts";
import { follow } from "./health.ts";
import type { Lane } from "./lane.ts";
import type { Recorder } from "./recorder.ts";
import { isOverloaded } from "./retry.ts";

export interface CourierOptions {
  readonly sender: Pick<Sender, "begin">;
  readonly signingKey: KeyObject;
  readonly recorder: Recorder;
  readonly counts: Counts;
  readonly log: Log;
  readonly now: () => number;
  readonly random: () => number;
  readonly checkClock: () => void;
  /** Told of a lane that may have something to do. */
  readonly hasTurn: (lane: Lane) => void;
  /** Told of so many deliveries that were put back into the store without having started. */
  readonly left: (count: number) => void;
}

/** Makes attempts, and does what follows from their outcome. */
export interface Courier {
  /** Attempts under way. */
  readonly inFlight: number;
  /** Makes one attempt of a delivery that was taken from its lane, or ends it where there is nothing to send. */
  start(lane: Lane, delivery: DueDelivery, at: number): void;
  /** Puts back into the store what a lane has in memory. */
  letGo(lane: Lane): void;
  /** Resolves when no attempt is under way. */
  idle(): Promise<void>;
}

export function createCourier(options: CourierOptions): Courier {
  const { sender, signingKey, recorder, counts, log, now, random, checkClock, hasTurn, left } = options;
  let inFlight = 0;
  let whenIdle: (() => void) | null = null;

  const start = (lane: Lane, delivery: DueDelivery, at: number): void => {
    const { recipient, pace, generation } = lane;
    const ending = endingOf(delivery, recipient, at);
    if (ending || !recipient) {
      const result = unsent(delivery, ending ?? "canceled", at, generation ?? 0);
      countResult(counts, result);
      recorder.add(result);
      return;
    }
    // The pace of this generation, which may be over when the attempt is.
    pace.inFlight++;
    lane.inFlight++;
    inFlight++;
    const done = (sent: SendResult): void => {
      pace.inFlight--;
      lane.inFlight--;
      inFlight--;
      if (sent.class !== "canceled") ended(lane, delivery, sent, at, recipient.endpoint_generation);
      if (inFlight === 0) whenIdle?.();
      hasTurn(lane);
    };
    try {
      sender.begin(requestOf(delivery, recipient, signingKey, at), done);
    } catch (error) {
      log.error("attempt_failed", { delivery_id: delivery.id, ...errorFields(error) });
      done(notMade);
    }
  };

  const ended = (
    lane: Lane,
    delivery: DueDelivery,
    sent: SendResult,
    startedAt: number,
    generation: number,
  ): void => {
    checkClock();
    const at = now();
    const chance = random();
    const isFormer = generation !== lane.generation;
    const made = { startedAt, at, generation, isFormer, random: chance };
    const { result, decision } = resultOf(delivery, sent, made);
    logAttempt(log, delivery, sent, decision);
    countResult(counts, result);
    lane.unrecorded++;
    recorder.add(result, () => {
      lane.unrecorded--;
      // Where a new generation has begun meanwhile, it is due at once.
      if (generation !== lane.generation) lane.retryBy(now());
      else if (result.next_attempt_at !== null) lane.retryBy(result.next_attempt_at);
      hasTurn(lane);
    });
    // An outcome counts for the URL that was called, and not against what a person has changed since.
    if (isFormer) return;
    const isSuccess = sent.class === "ok";
    const isThrottled = isOverloaded(sent.status);
    lane.pace.learn({
      startedAt,
      at,
      isSuccess,
      isThrottled,
      retryAfterMs: sent.retryAfterMs,
      random: chance,
    });
    const notice = follow(lane, sent, at, recorder, log);
    if (notice) countNotice(counts, notice);
    // Memory is for those who can be sent to.
    if (lane.isHeldUp(at)) letGo(lane);
  };

  const letGo = (lane: Lane): void => {
    const rest = lane.queue.clear();
    left(rest.length);
    // Recorded and not only given back, because what came from publishing was never to be claimed.
    const at = now();
    for (const delivery of rest) {
      const isFirst = delivery.attempts === 0;
      lane.unrecorded++;
      if (isFirst) lane.returning++;
      recorder.add(putBack(delivery, at, lane.generation ?? 0), () => {
        lane.unrecorded--;
        if (isFirst) {
          lane.returning--;
          lane.isBehind = true;
        } else lane.retryBy(at);
        hasTurn(lane);
      });
    }
  };

  return {
    get inFlight() {
      return inFlight;
    },
    start,
    letGo,
    async idle() {
      if (inFlight === 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      whenIdle = resolve;
      await promise;
    },
  };
}

/** How a delivery ends to which nothing is sent; null: it is to be sent. */
function endingOf(
  { isWanted, expires_at }: DueDelivery,
  recipient: Recipient | null | undefined,
  at: number,
): Unsent | null {
  if (!recipient || !isWanted) return "canceled";
  // It can be read, which is all that there is to deliver, also where it was asked for once more.
  if (usesOnlyStream(recipient)) return "delivered";
  return expires_at !== null && expires_at <= at ? "expired" : null;
}
