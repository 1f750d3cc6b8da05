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

/** Failures on this side of the connection. They must not disable an endpoint. */
const ours: ReadonlySet<OutcomeClass> = new Set(["proxy", "internal", "canceled"]);

interface Reporting {
  readonly recorder: Pick<Recorder, "addEndpoint">;
  readonly notices: Notices;
  readonly log: Log;
}

/**
 * Updates and records the state of a queue's endpoint after an attempt that ended at `at`. If the endpoint begins to
 * fail, is disabled or has recovered, records, logs and returns the notice of that; else returns null.
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

/** Whether to write the new state. Successes of a healthy endpoint are written at intervals. */
function isWorthKeeping(before: Endpoint, after: Endpoint): boolean {
  if (after.failing_since !== null || before.failing_since !== null) return true;
  // Absolute, because the clock may have been set back.
  return Math.abs((after.last_success_at ?? 0) - (before.last_success_at ?? 0)) >= successEveryMs;
}
