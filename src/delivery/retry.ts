/**
 * The retry rules: what follows an attempt. Pure. Times are milliseconds since the epoch, waits are milliseconds.
 */

import { hour, minute, second } from "../domain/time.ts";

/**
 * The outcomes of an attempt, by the stage in which it ended.
 *
 * - `ok`: a 2xx. `status`: any other final status.
 * - `dns`: the name did not resolve. `blocked`: the URL or its address may not be called (see address.ts).
 * - `refused`, `unreachable`: no connection. `tls`: no trusted TLS connection.
 * - `proxy`: the operator's egress proxy failed, which says nothing about the receiver.
 * - `reset`: the connection broke before a status. `timeout`: no status in time.
 * - `protocol`: the answer was not HTTP. `too_large`: its headers were too long.
 * - `canceled`: this process canceled the attempt. `internal`: this process failed to make it.
 */
export const outcomeClasses = [
  "ok",
  "status",
  "dns",
  "blocked",
  "refused",
  "unreachable",
  "tls",
  "proxy",
  "reset",
  "timeout",
  "protocol",
  "too_large",
  "canceled",
  "internal",
] as const;
export type OutcomeClass = (typeof outcomeClasses)[number];

/** The properties of an attempt that the rules depend on. */
export interface Outcome {
  readonly class: OutcomeClass;
  /** The HTTP status; null when none arrived. Set for the classes `ok` and `status` only. */
  readonly status: number | null;
  /** The wait that `Retry-After` asks for; null when it was absent or unreadable. */
  readonly retryAfterMs: number | null;
}

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

/** The longest `Retry-After` that is honoured. A longer time counts as this. */
export const maxRetryAfterMs = 24 * hour;

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
  readonly outcome: Outcome;
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

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3): a number of seconds, or an HTTP date in any of the
 * three forms of section 5.6.7.
 *
 * @returns the wait from `now` on, from 0 to {@link maxRetryAfterMs}; null when absent or unreadable
 */
export function parseRetryAfter(value: string | null | undefined, now: number): number | null {
  const text = value?.trim() ?? "";
  const wait = /^[0-9]+$/.test(text) ? Number(text) * second : parseHttpDate(text) - now;
  if (Number.isNaN(wait)) return null;
  return Math.min(Math.max(wait, 0), maxRetryAfterMs);
}

const time = "[0-9]{2}:[0-9]{2}:[0-9]{2}";
const dated = `, [0-9]{2}[ -][A-Z][a-z]{2}[ -][0-9]{2,4} ${time} GMT`;
const asctime = ` [A-Z][a-z]{2} [0-9 ][0-9] ${time} [0-9]{4}`;
const httpDate = new RegExp(`^[A-Z][a-z]{2,8}(${dated}|${asctime})$`);

/** The time of an HTTP date; NaN if it is invalid. */
function parseHttpDate(text: string): number {
  if (!httpDate.test(text)) return Number.NaN;
  return Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
}
