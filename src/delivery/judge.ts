import {
  type Attempt,
  type AttemptResult,
  type DueDelivery,
  type FailedExchange,
  maxAttempts,
} from "../domain/deliveries.ts";
import { nextStep } from "./retry.ts";
import { type SendResult, unsent } from "./send/send.ts";

/** The outcome of an attempt that failed in this process. The retry schedule continues. */
export const notSent = unsent({ class: "internal", error: "The request could not be made." });

/** The circumstances of an attempt that has ended. */
interface EndedAttempt {
  readonly startedAt: number;
  readonly endedAt: number;
  /** The generation of the endpoint that the request was sent to. */
  readonly generation: number;
  /** Whether a newer generation has begun since the start: the URL has changed, or the endpoint was enabled. */
  readonly isFormer: boolean;
  /** From 0 to 1, for the jitter. */
  readonly random: number;
  /** What is kept of a failure beside its result. */
  readonly exchange: FailedExchange | null;
}

/** Returns the result to record for an attempt that has ended. Pure. */
export function judge(
  delivery: DueDelivery,
  sent: SendResult,
  { startedAt, endedAt: at, generation, isFormer, random, exchange }: EndedAttempt,
): AttemptResult {
  const { seq, expires_at: expiresAt, resume_at: resumeAt } = delivery;
  const attempts = delivery.attempts + 1;
  const attempt = attemptOf(sent, startedAt, generation, exchange);
  const base = { seq, at, attempts, generation, attempt };
  if (isFormer && sent.class !== "ok" && attempts < maxAttempts) {
    // The outcome says nothing about the current endpoint. The delivery is due there, and keeps its place in the
    // schedule.
    const extra_attempts = delivery.extra_attempts + 1;
    return { ...base, extra_attempts, status: "pending", next_attempt_at: at, resume_at: resumeAt ?? at };
  }
  const extra_attempts = delivery.extra_attempts + (resumeAt === null ? 0 : 1);
  const scheduled = attempts - extra_attempts;
  const next = nextStep({ attempt: scheduled, resumeAt, outcome: sent, now: at, expiresAt, random });
  const then =
    next.kind === "retry"
      ? ({ status: "pending", next_attempt_at: next.at } as const)
      : { status: next.kind, next_attempt_at: null };
  return { ...base, extra_attempts, ...then, resume_at: null };
}

/** How a delivery may end without a request. `failed`: the database has lost the body. */
export type Ending = "delivered" | "failed" | "expired" | "canceled";

const lostBody =
  "The body of this event is damaged in the platform's database: it has to be published again.";

/** Returns the result to record for a delivery that ends without a request. */
export function endedWithoutAttempt(
  delivery: DueDelivery,
  status: Ending,
  at: number,
  generation: number,
): AttemptResult {
  const ended = { ...unattempted(delivery, at, generation), status, next_attempt_at: null, resume_at: null };
  if (status !== "failed") return ended;
  // Recorded as an attempt, so that its error is shown like others.
  const attempt = attemptOf({ ...notSent, error: lostBody }, at, generation);
  return { ...ended, attempts: ended.attempts + 1, attempt };
}

/** Returns the result to record for a delivery that goes back into the store without an attempt. */
export function returnedResult(delivery: DueDelivery, at: number, generation: number): AttemptResult {
  const { attempts, resume_at } = delivery;
  const next_attempt_at = attempts === 0 ? 0 : at;
  return { ...unattempted(delivery, at, generation), status: "pending", next_attempt_at, resume_at };
}

function unattempted(delivery: DueDelivery, at: number, generation: number) {
  const { seq, attempts, extra_attempts } = delivery;
  return { seq, at, attempts, extra_attempts, generation, attempt: null };
}

function attemptOf(
  sent: SendResult,
  at: number,
  generation: number,
  exchange: FailedExchange | null = null,
): Attempt {
  const { class: outcome, status, durationMs: duration_ms, timings, error, responseBody: response } = sent;
  return { generation, at, outcome, status, duration_ms, timings, error, response, exchange };
}
