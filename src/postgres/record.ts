import type { AttemptResult, LockedRecords } from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { Queries } from "./pool.ts";
import type { Claims } from "./queue.ts";
import type { OwnedShards } from "./shards.ts";

/** The first key of the advisory locks of endpoints' states. */
const stateLock = 1_701_737_316;

/**
 * Records results of attempts and states of endpoints in one statement. Results for a shard that this process has lost
 * are ignored: its next owner sends these deliveries again. The shards are locked against the next owner, so that no
 * result of an earlier epoch is committed after its first claim.
 *
 * A result that is already recorded changes nothing; its response may have been lost. A delivery may have changed
 * during its attempt. If its subscription is gone, it is canceled instead of retried. If its endpoint was enabled or
 * has another URL, its retry is due now, as all waiting ones. If it was canceled and the receiver accepted it, it
 * becomes `delivered`. The generation is read with a lock, so that no change of the URL is committed meanwhile.
 *
 * A statement that was given up may arrive after later ones. A state replaces only one of a lower revision. Its epoch
 * is still the current one, so that both states have been counted by this process.
 *
 * It waits for no lock of a row, because the transaction that holds it may not end for a long time. It returns what it
 * did not record for that reason. The first state of an endpoint has no row yet, so that states have advisory locks.
 */
const statement = `
WITH owned AS (
  SELECT s.shard, s.epoch FROM endpoint_shards s
  JOIN unnest($1::smallint[], $2::bigint[]) AS own(shard, epoch) ON own.shard = s.shard AND own.epoch = s.epoch
),
held AS MATERIALIZED (
  SELECT s.shard, s.epoch FROM endpoint_shards s
  JOIN unnest($1::smallint[], $2::bigint[]) AS own(shard, epoch) ON own.shard = s.shard AND own.epoch = s.epoch
  ORDER BY s.shard FOR SHARE OF s SKIP LOCKED
),
called AS MATERIALIZED (
  SELECT id, endpoint_generation FROM applications WHERE id = ANY($16::text[]) ORDER BY id FOR SHARE SKIP LOCKED
),
free AS MATERIALIZED (
  SELECT d.seq FROM deliveries d WHERE d.seq = ANY($3::bigint[]) ORDER BY d.seq FOR NO KEY UPDATE SKIP LOCKED
),
asked AS MATERIALIZED (
  SELECT g.* FROM unnest($3::bigint[], $4::text[], $5::smallint[], $6::smallint[], $7::smallint[], $8::bigint[], $9::text[],
    $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $15::bigint[])
    AS g(seq, application_id, shard, attempts, extra_attempts, at, status, next_attempt_at, resume_at, attempt, generation,
      epoch)
  JOIN owned USING (shard, epoch)
),
given AS MATERIALIZED (
  SELECT g.*, g.status = 'delivered' AND g.attempt IS NOT NULL AS is_accepted,
    a.endpoint_generation <> g.generation AND g.next_attempt_at > 0 AS is_due_now,
    CASE WHEN g.status = 'pending' THEN (
      SELECT count(*) = 0 FROM deliveries o JOIN subscriptions s ON s.id = o.subscription_id WHERE o.seq = g.seq
    ) ELSE false END AS is_canceled
  FROM asked g
  JOIN held USING (shard, epoch)
  JOIN free USING (seq)
  LEFT JOIN called a ON a.id = g.application_id
  WHERE a.id IS NOT NULL OR g.next_attempt_at IS NULL
    OR NOT EXISTS (SELECT FROM applications x WHERE x.id = g.application_id)
  ORDER BY g.seq
),
states AS MATERIALIZED (
  SELECT e.*, pg_try_advisory_xact_lock(${stateLock}, hashtext(e.application_id)) AS is_free
  FROM json_to_recordset($14) AS e(application_id text, shard smallint, epoch bigint, generation bigint,
    failing_since bigint, failures bigint, warned_at bigint, disabled_at bigint, disabled_reason text,
    last_success_at bigint, last_failure_at bigint, last_failure_status bigint, last_failure_error text,
    last_failure_outcome text, paused_until bigint, revision bigint)
),
kept AS (
  INSERT INTO endpoints
  SELECT e.application_id, e.failing_since, e.failures, e.warned_at, e.disabled_at, e.disabled_reason, e.last_success_at,
    e.last_failure_at, e.last_failure_status, e.last_failure_error, e.last_failure_outcome,
    e.paused_until, e.revision
  FROM states e
  JOIN held USING (shard, epoch)
  JOIN called a ON a.id = e.application_id AND a.endpoint_generation = e.generation
  WHERE e.is_free
  ORDER BY e.application_id
  ON CONFLICT (application_id) DO UPDATE SET
    failing_since = excluded.failing_since, failures = excluded.failures, warned_at = excluded.warned_at,
    disabled_at = excluded.disabled_at, disabled_reason = excluded.disabled_reason,
    last_success_at = excluded.last_success_at, last_failure_at = excluded.last_failure_at,
    last_failure_status = excluded.last_failure_status, last_failure_error = excluded.last_failure_error,
    last_failure_outcome = excluded.last_failure_outcome, paused_until = excluded.paused_until,
    revision = excluded.revision
  WHERE endpoints.revision < excluded.revision
),
recorded AS (
UPDATE deliveries d SET
  attempts = g.attempts,
  extra_attempts = g.extra_attempts,
  attempt_log = CASE WHEN g.attempt IS NULL THEN d.attempt_log ELSE d.attempt_log || g.attempt::json END,
  status = CASE WHEN g.is_accepted AND d.status = 'canceled' THEN 'delivered' WHEN d.status <> 'pending' THEN d.status
    WHEN g.is_canceled THEN 'canceled' ELSE g.status END,
  next_attempt_at = CASE WHEN d.status <> 'pending' OR g.is_canceled THEN NULL
    WHEN g.is_due_now THEN least(g.next_attempt_at, g.at) ELSE g.next_attempt_at END,
  resume_at = CASE WHEN d.status <> 'pending' OR g.is_canceled THEN NULL
    WHEN g.is_due_now THEN coalesce(g.resume_at, g.next_attempt_at) ELSE g.resume_at END,
  finished_at = CASE WHEN g.is_accepted AND d.status = 'canceled' THEN g.at WHEN d.status <> 'pending' THEN d.finished_at WHEN g.is_canceled OR g.status <> 'pending' THEN g.at END
FROM given g
WHERE d.seq = g.seq
  AND (d.attempts < g.attempts OR g.attempt IS NULL AND d.attempts = g.attempts AND d.status = 'pending')
)
SELECT g.seq::float8, NULL AS application_id FROM asked g
WHERE NOT EXISTS (SELECT FROM given WHERE given.seq = g.seq)
  AND EXISTS (SELECT FROM deliveries d WHERE d.seq = g.seq)
UNION ALL
SELECT NULL, e.application_id FROM states e
JOIN owned USING (shard, epoch)
JOIN applications x ON x.id = e.application_id AND x.endpoint_generation = e.generation
WHERE NOT e.is_free OR NOT EXISTS (SELECT FROM held h WHERE h.shard = e.shard)
  OR NOT EXISTS (SELECT FROM called c WHERE c.id = e.application_id)`;

/**
 * Records a batch of results and the states of endpoints. Ignores deliveries that were claimed in an earlier epoch.
 *
 * Returns what was not recorded, because other transactions hold the rows.
 *
 * @param claims the shards and epochs in which the deliveries were claimed
 */
export async function recordAttempts(
  connection: Queries,
  owned: OwnedShards,
  claims: Claims,
  results: readonly AttemptResult[],
  endpoints: readonly Endpoint[],
): Promise<LockedRecords> {
  // Deliveries that are no longer in memory were released before.
  const fenced = results.flatMap((result) => {
    const fence = claims.get(result.seq);
    return fence === undefined ? [] : { ...result, ...fence };
  });
  const states = endpoints.map((one) => ({ ...one, ...owned.of(one.application_id) }));
  // Only retries depend on the generation of their endpoint.
  const retries = fenced.filter(({ next_attempt_at }) => next_attempt_at !== null);
  const called = [
    ...retries.map(({ application }) => application),
    ...states.map((one) => one.application_id),
  ];
  const fences = new Map([...fenced, ...states].map((one) => [`${one.shard} ${one.epoch}`, one]));
  const locked = await connection.run<{ seq: number | null; application_id: string | null }>(statement, [
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
  return {
    seqs: new Set(locked.flatMap(({ seq }) => seq ?? [])),
    applicationIds: new Set(locked.flatMap(({ application_id }) => application_id ?? [])),
  };
}
