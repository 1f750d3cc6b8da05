import { and, eq, gt, inArray, lt, sql } from "drizzle-orm";
import { type DeliveryScope, maxAttempts } from "../../../domain/delivery-log.ts";
import { DomainError } from "../../../domain/errors.ts";
import { notSentAgain, type ReplaySkips } from "../../../domain/replays.ts";
import { requireReceiver } from "../../drizzle/endpoints.ts";
import { finished } from "../database/dialect.ts";
import type { Queries } from "../database/pool.ts";
import { applications } from "../schema/access.ts";
import { deliveries, endpoints } from "../schema/deliveries.ts";

/** So many retries are made due when an endpoint is enabled; those behind them follow their schedule. */
const hurriedAtOnce = 10_000;

/**
 * Makes the retries of an application due. What a person asks for is an attempt of its own: the schedule goes on behind it,
 * at `resume_at`, as if it were not made.
 */
export async function hurryRetries(orm: Queries["orm"], applicationId: string, now: number): Promise<void> {
  const { seq, next_attempt_at, resume_at } = deliveries;
  const isPending = sql`${deliveries.status} = 'pending'`;
  const isRetry = and(
    eq(deliveries.application_id, applicationId),
    isPending,
    gt(next_attempt_at, 0),
    lt(deliveries.attempts, maxAttempts),
  );
  const soonest = orm.select({ seq }).from(deliveries).where(isRetry);
  await orm
    .update(deliveries)
    .set({
      resume_at: sql`coalesce(${resume_at}, ${next_attempt_at})`,
      next_attempt_at: sql`least(${next_attempt_at}, ${now})`,
    })
    .where(and(isPending, inArray(seq, soonest.orderBy(next_attempt_at).limit(hurriedAtOnce))));
}

/** A column: the status of a delivery `d`. A pending delivery of a deleted subscription is shown as canceled. */
export const shownStatus = `CASE WHEN d.status = 'pending'
    AND (SELECT count(*) = 0 FROM subscriptions s WHERE s.id = d.subscription_id)
  THEN 'canceled' ELSE d.status END`;

type Obstacle = keyof ReplaySkips;

/** A column: why a delivery `d` cannot be sent again, or null. */
export const obstacle = `CASE
  WHEN (SELECT count(*) = 0 FROM subscriptions s WHERE s.id = d.subscription_id) THEN 'subscription_deleted'
  WHEN (SELECT count(*) = 0 FROM events e WHERE e.seq = d.event_seq) THEN 'body_not_kept'
  WHEN d.attempts >= ${maxAttempts} THEN 'attempts_used_up' END`;

/**
 * Makes deliveries due at a time. What has ended is pending again, with its id and its attempts; it is asked for, so it is
 * worth sending whatever its age. What waits for its first attempt is next anyway.
 */
export async function requeue(queries: Queries, seqs: readonly number[], now: number): Promise<void> {
  if (seqs.length === 0) return;
  await queries.run(
    `UPDATE deliveries SET
       resume_at = CASE WHEN status <> 'pending' THEN $1 WHEN next_attempt_at > 0 THEN coalesce(resume_at, next_attempt_at)
         ELSE resume_at END,
       next_attempt_at = CASE WHEN status = 'pending' THEN least(next_attempt_at, $1) ELSE $1 END,
       status = 'pending', finished_at = NULL, expires_at = NULL
     WHERE seq = ANY($2::bigint[])`,
    [now, seqs],
  );
}

/** Makes one delivery due and gives its number. Rejects with `not_found` or `conflict`. */
export async function retryDelivery(
  queries: Queries,
  { application_id, broadcaster_user_id }: DeliveryScope,
  id: string,
  now: number,
): Promise<number> {
  const [found] = await queries.run<{ seq: number; application_id: string; obstacle: Obstacle | null }>(
    `SELECT d.seq::float8, d.application_id, ${obstacle} AS obstacle FROM deliveries d
     WHERE d.id = $1 AND ($2::text IS NULL OR d.application_id = $2)
       AND ($3::bigint IS NULL OR d.broadcaster_user_id = $3) FOR UPDATE OF d`,
    [id, application_id, broadcaster_user_id],
  );
  if (!found) throw new DomainError("not_found", "There is no delivery with this id");
  await finished(requireReceiver({ applications, endpoints }, queries.orm, found.application_id));
  if (found.obstacle) throw new DomainError("conflict", notSentAgain[found.obstacle]);
  await requeue(queries, [found.seq], now);
  return found.seq;
}
