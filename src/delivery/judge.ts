import {
  type Attempt,
  type AttemptResult,
  type DueDelivery,
  type FailedExchange,
  maxAttempts,
} from "../domain/deliveries.ts";
import { hour, minute, second } from "../domain/time.ts";
import { maxRetryAfterMs, type SendResult, unsent } from "./send/send.ts";

/*
 * What follows an attempt. Pure. Times are milliseconds since the epoch, waits are milliseconds.
 */

/** What follows an attempt. */
export type Decision =
  | { readonly kind: "delivered" | "failed" | "expired" }
  | { readonly kind: "retry"; readonly at: number };

/** The wait after the first, second, … failed attempt: the schedule of the Standard Webhooks specification. */
export const retrySchedule: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** An upper bound of all waits: longer than the last one of the schedule with its jitter. */
export const longestWaitMs = 30 * hour;

/** Attempts of the schedule, including the first. */
export const maxScheduledAttempts = retrySchedule.length + 1;

/** Every wait is spread by this share, so that deliveries that failed together are not retried together. */
const jitter = 0.2;

/** Statuses of a receiver that is overloaded, or of the proxy in front of it. */
const overloaded: ReadonlySet<number | null> = new Set([429, 502, 503, 504]);

/** Whether a status means that the receiver, or the proxy in front of it, is overloaded. */
export const isOverloaded = (status: number | null): boolean => overloaded.has(status);

/** The status that asks for no further requests. */
export const gone = 410;

/**
 * Decides what follows attempt number `attempt` of the schedule (1 is the first), which ended with `outcome` at `now`.
 *
 * The next attempt is due after the wait of the schedule, ±20 %, but not before the time in `Retry-After`, whatever the
 * failure. `Retry-After` may lengthen a wait but not shorten it: a receiver that answers `Retry-After: 0` while it is
 * down would use up all attempts in seconds.
 *
 * A requested attempt is not part of the schedule, which continues after it at `resumeAt`; `attempt` is then the number
 * of the last scheduled one. If no attempt of the schedule is left, a requested attempt that fails ends the delivery.
 * Must not be called for a `canceled` attempt.
 *
 * @param input.resumeAt null for an attempt of the schedule
 * @param input.expiresAt when the delivery expires; null for never
 * @param input.random from 0 to 1, for the jitter
 */
export function nextStep(input: {
  readonly attempt: number;
  readonly resumeAt: number | null;
  readonly outcome: Pick<SendResult, "class" | "status" | "retryAfterMs">;
  readonly now: number;
  readonly expiresAt: number | null;
  readonly random: number;
}): Decision {
  const { attempt, resumeAt, outcome, now, expiresAt, random } = input;
  if (outcome.class === "ok") return { kind: "delivered" };
  if (outcome.status === gone || attempt >= maxScheduledAttempts) return { kind: "failed" };

  // After a requested attempt, the schedule continues no sooner than after its shortest wait.
  const wait = waitAfter(resumeAt === null ? attempt : 1, outcome.retryAfterMs, random);
  // `resumeAt` is bounded, because a clock that was far ahead may have set it.
  const at = Math.max(now + wait, Math.min(resumeAt ?? 0, now + longestWaitMs));
  return expiresAt !== null && at > expiresAt ? { kind: "expired" } : { kind: "retry", at };
}

function waitAfter(attempt: number, retryAfterMs: number | null, random: number): number {
  const scheduled = retrySchedule[attempt - 1] ?? 0;
  const spread = scheduled * (1 - jitter + 2 * jitter * random);
  // Spread only to later times, so that no attempt comes earlier than asked, and not beyond the longest wait.
  const stated = Math.min((retryAfterMs ?? 0) * (1 + jitter * random), maxRetryAfterMs);
  return Math.round(Math.max(spread, stated));
}

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
