/**
 * What follows an attempt to deliver: done, again later, or given up. Pure; times are
 * milliseconds since the epoch, waits are milliseconds.
 */

import { hour, minute, second } from "../domain/time.ts";

/**
 * How an attempt ended, by the stage that ended it.
 *
 * - `ok`: a 2xx. `status`: any other final status.
 * - `dns`: the name did not resolve. `blocked`: it may not be called (see address.ts).
 * - `refused`, `unreachable`: no connection. `tls`: no trusted encryption.
 * - `proxy`: the operator's egress proxy failed, which says nothing about the receiver.
 * - `reset`: the connection broke before a status. `timeout`: no status in time.
 * - `protocol`: the answer was not HTTP. `too_large`: its headers were too long.
 * - `canceled`: this process cut the attempt short. `internal`: it could not make one.
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

/** What the rules below need to know of an attempt. */
export interface Outcome {
  readonly class: OutcomeClass;
  /** The HTTP status; null when none arrived. Set for the classes `ok` and `status` only. */
  readonly status: number | null;
  /** The wait that `Retry-After` asks for; null when it was absent or unreadable. */
  readonly retryAfterMs: number | null;
}

/** What to do with the delivery. */
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

/** No retry is due later than this. */
export const longestWaitMs = 30 * hour;

/** Attempts of the schedule, the first one included. */
export const maxScheduledAttempts = retrySchedule.length + 1;

/** The longest `Retry-After` that is honoured; a longer one counts as this. */
export const maxRetryAfterMs = 24 * hour;

/** Every wait is spread by this share, so that what failed together does not come back together. */
const jitter = 0.2;

/** Statuses of a receiver, or of the proxy before it, that has too much to do. */
const overloaded: ReadonlySet<number | null> = new Set([429, 502, 503, 504]);

/** Whether a status says that the receiver, or the proxy before it, has too much to do. */
export const isOverloaded = (status: number | null): boolean => overloaded.has(status);

/** The status that asks for no further requests. */
export const gone = 410;

/**
 * Decides what follows attempt number `attempt` of the schedule (1 is the first) that ended as `outcome` at `now`.
 *
 * The next attempt is due after the wait of the schedule, ±20 %, and never before the moment that
 * `Retry-After` names, on whichever failure it came. It may lengthen a wait but not shorten one: a
 * receiver that answers `Retry-After: 0` while it is down would use up all attempts in seconds.
 *
 * An attempt that a person asked for is none of the schedule, which goes on behind it at `resumeAt`; `attempt` is then
 * the number of the one before. It has failed for good where the schedule is at its end. A `canceled` attempt is not to be
 * judged: it says nothing about the receiver.
 *
 * @param input.resumeAt null for an attempt of the schedule
 * @param input.expiresAt when the message loses its worth; null for never
 * @param input.random from 0 to 1, chosen by the caller
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

  // Behind an attempt that was asked for the schedule is not due before the shortest of its waits.
  const wait = waitAfter(resumeAt === null ? attempt : 1, outcome.retryAfterMs, random);
  // A clock that was far ahead may have given it its time.
  const at = Math.max(now + wait, Math.min(resumeAt ?? 0, now + longestWaitMs));
  return expiresAt !== null && at > expiresAt ? { kind: "expired" } : { kind: "retry", at };
}

function waitAfter(attempt: number, retryAfterMs: number | null, random: number): number {
  const scheduled = retrySchedule[attempt - 1] ?? 0;
  const spread = scheduled * (1 - jitter + 2 * jitter * random);
  // Spread only to later, so that none comes earlier than asked, and not beyond the longest that is honoured.
  const asked = Math.min((retryAfterMs ?? 0) * (1 + jitter * random), maxRetryAfterMs);
  return Math.round(Math.max(spread, asked));
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

/** The moment that an HTTP date names; NaN when it is none. */
function parseHttpDate(text: string): number {
  if (!httpDate.test(text)) return Number.NaN;
  return Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
}
