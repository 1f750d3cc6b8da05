import type { KeyObject } from "node:crypto";
import { type Recipient, webhookSecrets } from "../domain/applications.ts";
import type { Attempt, AttemptResult, DueDelivery, StreamedDelivery } from "../domain/deliveries.ts";
import { maxAttempts } from "../domain/delivery-log.ts";
import type { Log } from "../log.ts";
import type { SendRequest, SendResult } from "./client/sender.ts";
import { type Decision, nextStep } from "./retry.ts";
import { sign } from "./signature.ts";

/** The headers of an attempt that begins at `now`, signed with the application's secrets and the platform's key. */
export function signedHeaders(
  delivery: DueDelivery | StreamedDelivery,
  recipient: Recipient,
  signingKey: KeyObject,
  now: number,
): Record<string, string> {
  const { id, event, subscription_id, sequence } = delivery;
  const { body } = event;
  const timestampSeconds = Math.floor(now / 1000);
  const secrets = webhookSecrets(recipient, now);
  const told = { id, event, subscription_id, sequence, attempt: delivery.attempts + 1 };
  return {
    ...unsignedHeaders(told, now),
    "webhook-signature": sign({ id, timestampSeconds, body, secrets, ed25519: signingKey }),
  };
}

/** The request of an attempt that begins at `now`. */
export function requestOf(
  delivery: DueDelivery,
  recipient: Recipient,
  signingKey: KeyObject,
  now: number,
): SendRequest {
  const headers = signedHeaders(delivery, recipient, signingKey, now);
  return { url: recipient.webhook_url ?? "", body: delivery.event.body, headers };
}

/** What the headers of an attempt say of its delivery. */
export interface ToldDelivery {
  readonly id: string;
  readonly event: { readonly id: string; readonly name: string; readonly version: number };
  readonly subscription_id: string;
  readonly sequence: number;
  /** Counts from 1. */
  readonly attempt: number;
}

/** The headers of an attempt that began at `at`, without its signature. */
export function unsignedHeaders({ id, event, subscription_id, sequence, attempt }: ToldDelivery, at: number) {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at / 1000)),
    "onair-event-type": event.name,
    "onair-event-version": String(event.version),
    "onair-event-id": event.id,
    "onair-subscription-id": subscription_id,
    "onair-sequence": String(sequence),
    "onair-attempt": String(attempt),
  };
}

/** An attempt that failed on our side; the schedule goes on. */
export const notMade: SendResult = {
  class: "internal",
  status: null,
  retryAfterMs: null,
  durationMs: 0,
  responseBody: "",
  error: "The request could not be made.",
  timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null },
  repeated: false,
};

/** How an attempt went, beside what the receiver answered. */
export interface AttemptMade {
  readonly startedAt: number;
  readonly at: number;
  /** The generation of the endpoint that it was sent to. */
  readonly generation: number;
  /** Whether a newer one has begun since: the URL is a former one, or a person has enabled the endpoint. */
  readonly isFormer: boolean;
  /** From 0 to 1, for the jitter. */
  readonly random: number;
}

/** What is recorded of an attempt, and what was decided. */
export function resultOf(
  delivery: DueDelivery,
  sent: SendResult,
  { startedAt, at, generation, isFormer, random }: AttemptMade,
): { result: AttemptResult; decision: Decision } {
  const { seq, expires_at: expiresAt, resume_at } = delivery;
  const attempts = delivery.attempts + 1;
  const base = { seq, at, attempts, generation, attempt: attemptOf(sent, startedAt) };
  if (isFormer && sent.class !== "ok" && attempts < maxAttempts) {
    // It says nothing of the endpoint as it is now, which gets the delivery as if this attempt were not made.
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

/** How a delivery may end without being sent. */
export type Unsent = "delivered" | "expired" | "canceled";

/** What is recorded of a delivery to which nothing was sent. */
export function unsent(delivery: DueDelivery, status: Unsent, at: number, generation: number): AttemptResult {
  const { seq, attempts, extra_attempts } = delivery;
  const ended = { status, next_attempt_at: null, resume_at: null };
  return { seq, at, attempts, extra_attempts, generation, attempt: null, ...ended };
}

/** What is recorded of a delivery that goes back into the store without having been sent. */
export function putBack(delivery: DueDelivery, at: number, generation: number): AttemptResult {
  const { seq, attempts, extra_attempts, resume_at } = delivery;
  const next_attempt_at = attempts === 0 ? 0 : at;
  return {
    seq,
    at,
    attempts,
    extra_attempts,
    generation,
    attempt: null,
    status: "pending",
    next_attempt_at,
    resume_at,
  };
}

function attemptOf(sent: SendResult, at: number): Attempt {
  const { class: outcome, status, durationMs: duration_ms, timings, error, responseBody: response } = sent;
  return { at, outcome, status, duration_ms, timings, error, response };
}

/** One wide line for an attempt. */
export function logAttempt(log: Log, delivery: DueDelivery, sent: SendResult, decision: Decision): void {
  log.info("delivery", {
    delivery_id: delivery.id,
    subscription_id: delivery.subscription_id,
    application_id: delivery.application_id,
    type: delivery.event.name,
    attempt: delivery.attempts + 1,
    outcome: sent.class,
    status: sent.status,
    duration_ms: sent.durationMs,
    error: sent.error,
    decision: decision.kind,
  });
}
