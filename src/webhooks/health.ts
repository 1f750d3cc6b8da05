import { afterAttempt, type Endpoint, type EndpointNotice, newEndpoint } from "../domain/endpoints.ts";
import { second } from "../domain/time.ts";
import type { Log } from "../log.ts";
import type { SendResult } from "./client/sender.ts";
import type { Lane } from "./lane.ts";
import type { Recorder } from "./recorder.ts";
import type { OutcomeClass } from "./retry.ts";

/** `last_success_at` of an endpoint is written at most so often. */
const successEveryMs = 5 * second;

const gone = 410;

/** Failures on our side of the connection: an endpoint must not be disabled for the operator's proxy. */
const ours: ReadonlySet<OutcomeClass> = new Set(["proxy", "internal", "canceled"]);

/**
 * Follows the state of a lane's endpoint after an attempt that ended at `at`, keeps it, and says in the log when it is
 * about to be disabled, is disabled, or has recovered; gives that notice.
 */
export function follow(
  lane: Lane,
  sent: SendResult,
  at: number,
  recorder: Recorder,
  log: Log,
): EndpointNotice | null {
  if (ours.has(sent.class)) return null;
  const before = lane.endpoint ?? newEndpoint(lane.applicationId, lane.generation ?? 0);
  const { status, error } = sent;
  const attempt = { at, isSuccess: sent.class === "ok", isGone: status === gone, status, error };
  const { endpoint, notice } = afterAttempt(before, attempt);
  lane.endpoint = endpoint;
  if (isWorthKeeping(before, endpoint)) recorder.addEndpoint(endpoint);
  else lane.endpoint = { ...endpoint, last_success_at: before.last_success_at };
  if (!notice) return null;
  const { application_id, failing_since, failures, disabled_reason } = endpoint;
  log.warn(notice, { application_id, failing_since, failures, disabled_reason, status, error });
  return notice;
}

/** A success of an endpoint that was well before is written only now and then. */
function isWorthKeeping(before: Endpoint, after: Endpoint): boolean {
  if (after.failing_since !== null || before.failing_since !== null) return true;
  return (after.last_success_at ?? 0) - (before.last_success_at ?? 0) >= successEveryMs;
}
