import { day, hour } from "./time.ts";

/**
 * What is known of the endpoint of an application: the receiver behind its webhook URL. `failing` since the first
 * failure behind which there was no success, `disabled` when nothing is sent to it any more.
 */
type EndpointStatus = "enabled" | "failing" | "disabled";

/** Why an endpoint was disabled. */
export type DisabledReason = "gone" | "failing";

/** The state of an endpoint that outlives the process. Times are milliseconds since the epoch. */
export interface Endpoint {
  readonly application_id: string;
  /** The application's `endpoint_generation`: the state of an earlier one no longer counts. */
  readonly generation: number;
  /** The first failure since the last success; null while it is well. */
  readonly failing_since: number | null;
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** When the notice went out that it will be disabled. */
  readonly warned_at: number | null;
  readonly disabled_at: number | null;
  readonly disabled_reason: DisabledReason | null;
  readonly last_success_at: number | null;
  readonly last_failure_at: number | null;
  readonly last_failure_status: number | null;
  readonly last_failure_error: string | null;
}

export function newEndpoint(application_id: string, generation = 0): Endpoint {
  return {
    application_id,
    generation,
    failing_since: null,
    failures: 0,
    warned_at: null,
    disabled_at: null,
    disabled_reason: null,
    last_success_at: null,
    last_failure_at: null,
    last_failure_status: null,
    last_failure_error: null,
  };
}

export function endpointStatus({ disabled_at, failing_since }: Endpoint): EndpointStatus {
  if (disabled_at !== null) return "disabled";
  return failing_since === null ? "enabled" : "failing";
}

/** An endpoint that has failed everything for so long is disabled. */
export const disableAfterMs = 24 * hour;
/** The notice goes out so long after the first failure. */
export const warnAfterMs = 12 * hour;
/** What a disabled endpoint has pending is kept for so long from then on, or from its publishing if that is later. */
export const keepDisabledMs = 3 * day;

/** One attempt, as far as it tells something of the endpoint. */
export interface EndpointAttempt {
  readonly at: number;
  readonly isSuccess: boolean;
  /** It asked for nothing more ever to be sent: 410. */
  readonly isGone: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** What the operator and the developer are told about an endpoint. */
export type EndpointNotice = "endpoint.failing" | "endpoint.disabled" | "endpoint.recovered";

/**
 * The state behind an attempt, and the notice that is due: `endpoint.failing` once, half-way to being disabled. A
 * disabled endpoint stays so whatever attempts that were under way bring.
 */
export function afterAttempt(
  endpoint: Endpoint,
  { at, isSuccess, isGone, status, error }: EndpointAttempt,
): { endpoint: Endpoint; notice: EndpointNotice | null } {
  if (isSuccess) {
    const recovered = endpoint.warned_at !== null && endpoint.disabled_at === null;
    const well = { ...endpoint, failing_since: null, failures: 0, warned_at: null, last_success_at: at };
    return { endpoint: well, notice: recovered ? "endpoint.recovered" : null };
  }
  const failing_since = endpoint.failing_since ?? at;
  const failed: Endpoint = {
    ...endpoint,
    failing_since,
    failures: endpoint.failures + 1,
    last_failure_at: at,
    last_failure_status: status,
    last_failure_error: error,
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
    endpoint: { ...endpoint, disabled_at: at, disabled_reason: reason },
    notice: "endpoint.disabled" as const,
  };
}

/** The state of an endpoint of a new generation: it is enabled by hand, or its URL was changed. */
export function enabledAgain(endpoint: Endpoint, generation: number): Endpoint {
  const { application_id, last_success_at, last_failure_at, last_failure_status, last_failure_error } =
    endpoint;
  const last = { last_success_at, last_failure_at, last_failure_status, last_failure_error };
  return { ...newEndpoint(application_id, generation), ...last };
}
