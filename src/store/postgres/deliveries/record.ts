import type { AttemptResult } from "../../../domain/deliveries.ts";
import type { Endpoint } from "../../../domain/endpoints.ts";
import type { Queries } from "../database/pool.ts";
import type { Fence, OwnedShards } from "./owned-shards.ts";

/**
 * Records what came of attempts, and the state of endpoints, in one statement. What belongs to a shard that this process
 * has lost is left out: its next owner sends it. The shards are locked against that owner, so that nothing of an earlier
 * epoch is committed behind its first claim.
 *
 * A result that is recorded already changes nothing: the answer to it may have been lost. What is to be tried again may
 * have changed while the attempt was under way: its subscription may be gone; or its endpoint was enabled or has another
 * URL, then it is asked for now, as the others that wait. What was canceled meanwhile is `delivered` where the receiver
 * took it. A change of the URL that is being committed is waited for: the generation is read with a lock.
 */
const statement = `
WITH held AS MATERIALIZED (
  SELECT s.shard, s.epoch FROM endpoint_shards s
  JOIN unnest($1::smallint[], $2::bigint[]) AS own(shard, epoch) ON own.shard = s.shard AND own.epoch = s.epoch
  ORDER BY s.shard FOR SHARE OF s
),
called AS MATERIALIZED (
  SELECT id, endpoint_generation FROM applications WHERE id = ANY($16::text[]) ORDER BY id FOR SHARE
),
given AS MATERIALIZED (
  SELECT g.*, g.status = 'delivered' AND g.attempt IS NOT NULL AS is_taken,
    a.endpoint_generation <> g.generation AND g.next_attempt_at > 0 AS is_asked,
    CASE WHEN g.status = 'pending' THEN (
      SELECT count(*) = 0 FROM deliveries o JOIN subscriptions s ON s.id = o.subscription_id WHERE o.seq = g.seq
    ) ELSE false END AS is_over
  FROM unnest($3::bigint[], $4::text[], $5::smallint[], $6::smallint[], $7::smallint[], $8::bigint[], $9::text[],
    $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $15::bigint[])
    AS g(seq, application_id, shard, attempts, extra_attempts, at, status, next_attempt_at, resume_at, attempt, generation,
      epoch)
  JOIN held USING (shard, epoch)
  LEFT JOIN called a ON a.id = g.application_id
  ORDER BY g.seq
),
kept AS (
  INSERT INTO endpoints
  SELECT e.application_id, e.failing_since, e.failures, e.warned_at, e.disabled_at, e.disabled_reason, e.last_success_at,
    e.last_failure_at, e.last_failure_status, e.last_failure_error, e.last_failure_outcome,
    e.paused_until
  FROM json_to_recordset($14) AS e(application_id text, shard smallint, epoch bigint, generation bigint, failing_since bigint,
    failures bigint, warned_at bigint, disabled_at bigint, disabled_reason text, last_success_at bigint,
    last_failure_at bigint, last_failure_status bigint, last_failure_error text,
    last_failure_outcome text, paused_until bigint)
  JOIN held USING (shard, epoch)
  JOIN called a ON a.id = e.application_id AND a.endpoint_generation = e.generation
  ORDER BY e.application_id
  ON CONFLICT (application_id) DO UPDATE SET
    failing_since = excluded.failing_since, failures = excluded.failures, warned_at = excluded.warned_at,
    disabled_at = excluded.disabled_at, disabled_reason = excluded.disabled_reason,
    last_success_at = excluded.last_success_at, last_failure_at = excluded.last_failure_at,
    last_failure_status = excluded.last_failure_status, last_failure_error = excluded.last_failure_error,
    last_failure_outcome = excluded.last_failure_outcome, paused_until = excluded.paused_until
)
UPDATE deliveries d SET
  attempts = g.attempts,
  extra_attempts = g.extra_attempts,
  attempt_log = CASE WHEN g.attempt IS NULL THEN d.attempt_log ELSE d.attempt_log || g.attempt::json END,
  status = CASE WHEN g.is_taken AND d.status = 'canceled' THEN 'delivered' WHEN d.status <> 'pending' THEN d.status
    WHEN g.is_over THEN 'canceled' ELSE g.status END,
  next_attempt_at = CASE WHEN d.status <> 'pending' OR g.is_over THEN NULL
    WHEN g.is_asked THEN least(g.next_attempt_at, g.at) ELSE g.next_attempt_at END,
  resume_at = CASE WHEN d.status <> 'pending' OR g.is_over THEN NULL
    WHEN g.is_asked THEN coalesce(g.resume_at, g.next_attempt_at) ELSE g.resume_at END,
  finished_at = CASE WHEN g.is_taken AND d.status = 'canceled' THEN g.at WHEN d.status <> 'pending' THEN d.finished_at WHEN g.is_over OR g.status <> 'pending' THEN g.at END
FROM given g
WHERE d.seq = g.seq AND (d.attempts < g.attempts OR g.attempt IS NULL AND d.status = 'pending')`;

/**
 * Records a batch of results, and the state of endpoints. Leaves out what was claimed in an epoch that is over.
 *
 * @param fenceOf by the number of a delivery in memory, the shard and epoch in which it was claimed
 */
export async function recordAttempts(
  connection: Queries,
  owned: OwnedShards,
  fenceOf: (seq: number) => Fence | undefined,
  results: readonly AttemptResult[],
  endpoints: readonly Endpoint[],
): Promise<void> {
  // What is not in memory any more was taken back before.
  const fenced = results.flatMap((result) => {
    const fence = fenceOf(result.seq);
    return fence === undefined ? [] : { ...result, ...fence };
  });
  const states = endpoints.map((one) => ({ ...one, ...owned.of(one.application_id) }));
  // Only these have to know the generation of their endpoint.
  const retries = fenced.filter(({ next_attempt_at }) => next_attempt_at !== null);
  const called = [
    ...retries.map(({ application }) => application),
    ...states.map((one) => one.application_id),
  ];
  const fences = new Map([...fenced, ...states].map((one) => [`${one.shard} ${one.epoch}`, one]));
  await connection.run(statement, [
    [...fences.values()].map(({ shard }) => shard),
    [...fences.values()].map(({ epoch }) => epoch),
    fenced.map(({ seq }) => seq),
    fenced.map(({ application }) => application),
    fenced.map(({ shard }) => shard),
    fenced.map(({ attempts }) => attempts),
    fenced.map(({ extra_attempts }) => extra_attempts),
    fenced.map(({ at }) => at),
    fenced.map(({ status }) => status),
    fenced.map(({ next_attempt_at }) => next_attempt_at),
    fenced.map(({ resume_at }) => resume_at),
    fenced.map(({ attempt }) => attempt && JSON.stringify(attempt)),
    fenced.map(({ generation }) => generation),
    states,
    fenced.map(({ epoch }) => epoch),
    [...new Set(called)],
  ]);
}
