import type { Attempt, AttemptResult, DueDelivery } from "../domain/deliveries.ts";
import { maxAttempts } from "../domain/delivery-log.ts";
import { type SendResult, unsent } from "./client/sender.ts";
import { type Decision, nextStep } from "./retry.ts";

/** The outcome of an attempt that failed on this side, before or while it was sent; the schedule goes on. */
export const notSent = unsent({ class: "internal", error: "The request could not be made." });

/** The circumstances of an attempt that has ended. */
export interface EndedAttempt {
  readonly startedAt: number;
  readonly endedAt: number;
  /** The generation of the endpoint that it was sent to. */
  readonly generation: number;
  /** Whether a newer one has begun since: the URL is a former one, or a person has enabled the endpoint. */
  readonly isFormer: boolean;
  /** From 0 to 1, for the jitter. */
  readonly random: number;
}

/** What is recorded of an attempt, and what was decided. */
export interface Verdict {
  readonly result: AttemptResult;
  readonly decision: Decision;
}

/** Judges an attempt by its outcome. Pure. */
export function judge(
  delivery: DueDelivery,
  sent: SendResult,
  { startedAt, endedAt: at, generation, isFormer, random }: EndedAttempt,
): Verdict {
  const { seq, expires_at: expiresAt, resume_at } = delivery;
  const attempts = delivery.attempts + 1;
  const base = { seq, at, attempts, generation, attempt: attemptOf(sent, startedAt) };
  if (isFormer && sent.class !== "ok" && attempts < maxAttempts) {
    // It says nothing about the endpoint as it is now, which gets the delivery as if this attempt were not made.
    const extra_attempts = delivery.extra_attempts + 1;
    const decision = { kind: "retry", at, slowDownEndpoint: false } as const;
    const result = { ...base, extra_attempts, status: "pending", next_attempt_at: at } as const;
    return { result: { ...result, resume_at: resume_at ?? at }, decision };
  }
  const extra_attempts = delivery.extra_attempts + (resume_at === null ? 0 : 1);
  const attempt = attempts - extra_attempts;
  const decision = nextStep({ attempt, resumeAt: resume_at, outcome: sent, now: at, expiresAt, random });
  const next_attempt_at = decision.kind === "retry" ? decision.at : null;
  const status = decision.kind === "retry" ? "pending" : decision.kind;
  return { result: { ...base, extra_attempts, status, next_attempt_at, resume_at: null }, decision };
}

/** How a delivery may end without a request. `failed`: the database has lost what was to be sent. */
export type Ending = "delivered" | "failed" | "expired" | "canceled";

const lostBody =
  "The body of this event is damaged in the platform's database: it has to be published again.";

/** What is recorded of a delivery that ends without a request. */
export function endedWithoutAttempt(
  delivery: DueDelivery,
  status: Ending,
  at: number,
  generation: number,
): AttemptResult {
  const ended = { ...unattempted(delivery, at, generation), status, next_attempt_at: null, resume_at: null };
  if (status !== "failed") return ended;
  // As an attempt, so that its error is read where the others are.
  return { ...ended, attempts: ended.attempts + 1, attempt: attemptOf({ ...notSent, error: lostBody }, at) };
}

/** What is recorded of a delivery that goes back into the store without an attempt. */
export function returned(delivery: DueDelivery, at: number, generation: number): AttemptResult {
  const { attempts, resume_at } = delivery;
  const next_attempt_at = attempts === 0 ? 0 : at;
  return { ...unattempted(delivery, at, generation), status: "pending", next_attempt_at, resume_at };
}

function unattempted(delivery: DueDelivery, at: number, generation: number) {
  const { seq, attempts, extra_attempts } = delivery;
  return { seq, at, attempts, extra_attempts, generation, attempt: null };
}

function attemptOf(sent: SendResult, at: number): Attempt {
  const { class: outcome, status, durationMs: duration_ms, timings, error, responseBody: response } = sent;
  return { at, outcome, status, duration_ms, timings, error, response };
}
