import type { EndpointNotice } from "./notices.ts";
import { day, hour, minute } from "./time.ts";

/**
 * The state of an application's endpoint, the receiver behind its webhook URL. `failing`: no success since the first
 * failure. `disabled`: nothing is sent.
 */
export const endpointStatuses = ["enabled", "failing", "disabled"] as const;
export type EndpointStatus = (typeof endpointStatuses)[number];

/** The reasons why an endpoint is disabled. */
export const disabledReasons = ["gone", "failing"] as const;
export type DisabledReason = (typeof disabledReasons)[number];

/** The stored state of an endpoint. Times are milliseconds since the epoch. */
export interface Endpoint {
  readonly application_id: string;
  /** The application's `endpoint_generation`. State of an earlier generation is ignored. */
  readonly generation: number;
  /** Counts the changes of the state. A state is stored only in place of a state with a lower number. */
  readonly revision: number;
  /** The first failure since the last success; null when there is none. */
  readonly failing_since: number | null;
  /** When the last failures began, also after a success; null when there was none. */
  readonly last_failing_since: number | null;
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** When the current failures were first announced; null when there is nothing to recover from. */
  readonly warned_at: number | null;
  readonly disabled_at: number | null;
  readonly disabled_reason: DisabledReason | null;
  readonly last_success_at: number | null;
  readonly last_failure_at: number | null;
  readonly last_failure_status: number | null;
  readonly last_failure_error: string | null;
  /** The outcome class of the last failure; null when there was none. */
  readonly last_failure_outcome: string | null;
  /** The end of the pause that the endpoint requested, when the state was stored; null for none. */
  readonly paused_until: number | null;
  /**
   * When the next attempt may begin: the end of the pause, or of the wait after failures in a row, when the state was
   * stored; null for none.
   */
  readonly resumes_at: number | null;
}

export function newEndpoint(application_id: string, generation = 0): Endpoint {
  return {
    application_id,
    generation,
    revision: 0,
    failing_since: null,
    last_failing_since: null,
    failures: 0,
    warned_at: null,
    disabled_at: null,
    disabled_reason: null,
    last_success_at: null,
    last_failure_at: null,
    last_failure_status: null,
    last_failure_error: null,
    last_failure_outcome: null,
    paused_until: null,
    resumes_at: null,
  };
}

export function endpointStatus({ disabled_at, failing_since }: Endpoint): EndpointStatus {
  if (disabled_at !== null) return "disabled";
  return failing_since === null ? "enabled" : "failing";
}

/** An endpoint is disabled after failing every attempt for this long. */
export const disableAfterMs = 24 * hour;
/** Failures are announced this long after the first failure: a restart of the receiver takes less. */
export const warnAfterMs = 30 * minute;
/**
 * How long pending deliveries of a disabled endpoint are kept, from the disabling or from their publishing, whichever
 * is later.
 */
export const keepDisabledMs = 3 * day;

/** The part of an attempt that concerns the endpoint's state. */
export interface EndpointAttempt {
  readonly at: number;
  readonly isSuccess: boolean;
  /** Whether the answer was 410, which asks for no further requests. */
  readonly isGone: boolean;
  readonly status: number | null;
  readonly error: string | null;
  /** The outcome class of the attempt. */
  readonly outcome: string;
  /** The end of the pause that the endpoint requested, in this or an earlier answer; null for none. */
  readonly pausedUntil: number | null;
  /** When the next attempt may begin; null for at once. */
  readonly resumesAt: number | null;
}

/**
 * The state after an attempt, and the notice to send: `endpoint.failing` once, half an hour after the first failure,
 * `endpoint.disabled`, and `endpoint.recovered` with the first success after either. A disabled endpoint stays
 * disabled, whatever the result of attempts in flight.
 */
export function afterAttempt(
  before: Endpoint,
  { at, isSuccess, isGone, status, error, outcome, pausedUntil, resumesAt }: EndpointAttempt,
): { endpoint: Endpoint; notice: EndpointNotice | null } {
  const next = { revision: before.revision + 1, paused_until: pausedUntil, resumes_at: resumesAt };
  const endpoint = { ...before, ...next };
  if (isSuccess) {
    const recovered = endpoint.warned_at !== null && endpoint.disabled_at === null;
    const well = { ...endpoint, failing_since: null, failures: 0, warned_at: null, last_success_at: at };
    return { endpoint: well, notice: recovered ? "endpoint.recovered" : null };
  }
  const failing_since = endpoint.failing_since ?? at;
  const failed: Endpoint = {
    ...endpoint,
    failing_since,
    last_failing_since: failing_since,
    failures: endpoint.failures + 1,
    last_failure_at: at,
    last_failure_status: status,
    last_failure_error: error,
    last_failure_outcome: outcome,
  };
  if (endpoint.disabled_at !== null) return { endpoint: failed, notice: null };
  if (isGone) return disabled(failed, at, "gone");
  if (at - failing_since >= disableAfterMs) return disabled(failed, at, "failing");
  if (failed.warned_at === null && at - failing_since >= warnAfterMs) {
    return { endpoint: { ...failed, warned_at: at }, notice: "endpoint.failing" };
  }
  return { endpoint: failed, notice: null };
}

function disabled(endpoint: Endpoint, at: number, reason: DisabledReason) {
  return {
    endpoint: {
      ...endpoint,
      warned_at: endpoint.warned_at ?? at,
      disabled_at: at,
      disabled_reason: reason,
    },
    notice: "endpoint.disabled" as const,
  };
}

/**
 * The state of a new generation, after a person enabled the endpoint. `warned_at` stays until a success is announced.
 */
export function enabledAgain(endpoint: Endpoint, generation: number): Endpoint {
  const well = {
    failing_since: null,
    failures: 0,
    disabled_at: null,
    disabled_reason: null,
    paused_until: null,
    resumes_at: null,
  };
  return { ...endpoint, generation, ...well };
}

/**
 * The state of a new generation with another URL: initial, except that `warned_at` and `last_failing_since` stay, and
 * `revision` goes on.
 */
export function atAnotherUrl(
  { application_id, revision, warned_at, last_failing_since }: Endpoint,
  generation: number,
): Endpoint {
  return { ...newEndpoint(application_id, generation), revision, warned_at, last_failing_since };
}

/**
 * Returns when a delivery that is due at `dueAt` is attempted: not before sending to its endpoint resumes. null when
 * that is now, or when nothing is sent until the endpoint is enabled.
 */
export function nextAttemptAt(
  dueAt: number | null,
  endpoint: Pick<Endpoint, "disabled_at" | "resumes_at"> | null,
  now: number,
): number | null {
  if (dueAt === null || (endpoint?.disabled_at ?? null) !== null) return null;
  const at = Math.max(dueAt, endpoint?.resumes_at ?? 0);
  return at > now ? at : null;
}

/** The state of each application's endpoint. */
export interface EndpointStore {
  /** null when nothing was sent to it yet. */
  find(applicationId: string): Promise<Endpoint | null>;
  /** Endpoints that are failing or disabled. */
  failing(): Promise<Endpoint[]>;
  /** When the earliest waiting delivery of an application is due; 0 for a first attempt, null when none waits. */
  dueAt(applicationId: string): Promise<number | null>;
  /**
   * Begins a new generation of an endpoint, neither failing nor disabled, and makes its retries due at `now` (the next
   * 10,000 of them; later ones keep their schedule). Resolves to the generation, or to null when the application is
   * gone.
   */
  enable(applicationId: string, now: number): Promise<number | null>;
}
