import { afterAttempt, type Endpoint } from "../domain/endpoints.ts";
import type { EndpointNotice } from "../domain/operations/notices.ts";
import { second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";
import type { SendResult } from "./client/sender.ts";
import type { Notices } from "./notices/notice.ts";
import type { EndpointQueue } from "./queues/endpoint-queue.ts";
import type { Recorder } from "./recorder.ts";
import { gone, type OutcomeClass } from "./retry.ts";

/** `last_success_at` of an endpoint is written at most this often. */
const successEveryMs = 5 * second;

/** Failures on our side of the connection: an endpoint must not be disabled for the operator's proxy. */
const ours: ReadonlySet<OutcomeClass> = new Set(["proxy", "internal", "canceled"]);

interface Reporting {
  readonly recorder: Pick<Recorder, "addEndpoint">;
  readonly notices: Notices;
  readonly log: Log;
}

/**
 * Updates the state of a queue's endpoint after an attempt that ended at `at` and keeps it; keeps, logs and returns the
 * notice that it fails, is disabled, or has recovered.
 */
export function updateEndpoint(
  queue: EndpointQueue,
  sent: SendResult,
  at: number,
  { recorder, notices, log }: Reporting,
): EndpointNotice | null {
  if (ours.has(sent.class)) return null;
  const before = queue.endpointState;
  const { status, error, class: outcome } = sent;
  const pausedUntil = queue.pace.pausedUntil > at ? queue.pace.pausedUntil : null;
  const isSuccess = outcome === "ok";
  const attempt = { at, isSuccess, isGone: status === gone, status, error, outcome, pausedUntil };
  const { endpoint, notice } = afterAttempt(before, attempt);
  queue.endpoint = endpoint;
  const made = notice && queue.recipient ? notices.ofEndpoint(notice, endpoint, queue.recipient, at) : null;
  if (made || isWorthKeeping(before, endpoint)) recorder.addEndpoint(endpoint, made);
  else queue.endpoint = { ...endpoint, last_success_at: before.last_success_at };
  if (!notice) return null;
  const { application_id, failing_since, failures, disabled_reason } = endpoint;
  log.warn(notice, { application_id, failing_since, failures, disabled_reason, status, error });
  return notice;
}

/** Successes of an endpoint that does not fail are written only now and then. */
function isWorthKeeping(before: Endpoint, after: Endpoint): boolean {
  if (after.failing_since !== null || before.failing_since !== null) return true;
  // Either way, because the clock may have been set back.
  return Math.abs((after.last_success_at ?? 0) - (before.last_success_at ?? 0)) >= successEveryMs;
}
