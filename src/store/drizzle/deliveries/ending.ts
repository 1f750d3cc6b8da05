import { and, eq, gt, inArray, isNotNull, lt, sql } from "drizzle-orm";
import { maxAttempts } from "../../../domain/delivery-log.ts";
import type { RemovedSubscriptions } from "../../subscriptions.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "../dialect.ts";

/** Of a long backlog the beginning; what is behind it is canceled when it would be sent. */
const cancelAtOnce = 10_000;

/** So many retries are made due when an endpoint is enabled; those behind them follow their schedule. */
const hurriedAtOnce = 10_000;

/** The word itself, because a parameter would not match the partial indexes. */
const isPending = ({ deliveries }: Tables) => sql`${deliveries.status} = 'pending'`;

/** What waits in the store for an application: with SQLite, what the dispatcher has in memory is not among it. */
const isWaiting = (tables: Tables, applicationId: string) =>
  and(
    eq(tables.deliveries.application_id, applicationId),
    isPending(tables),
    isNotNull(tables.deliveries.next_attempt_at),
  );

const ended = { next_attempt_at: null, resume_at: null };

/**
 * Cancels what waits of removed subscriptions, inside a transaction. Of what is in memory the dispatcher learns: it starts no
 * more of it, and of what is under way the attempt is kept.
 */
export function* cancelRemoved(
  { tables, waitingOf }: Dialect,
  orm: Orm,
  removed: readonly RemovedSubscriptions[],
  now: number,
): Work<void> {
  const some = removed.filter(({ ids }) => ids.length > 0);
  if (some.length === 0) return;
  const canceled = { ...ended, status: "canceled", finished_at: now } as const;
  for (const waiting of waitingOf(some, cancelAtOnce)) {
    const isTheirs = and(isPending(tables), inArray(tables.deliveries.seq, waiting));
    yield* execute(orm.update(tables.deliveries).set(canceled).where(isTheirs));
  }
}

/**
 * Ends what is pending of an application, inside a transaction: as `delivered` where it uses only its event stream from now
 * on, where it can be read.
 */
export function* endPending(
  { tables: { deliveries }, isPendingOf }: Dialect,
  orm: Orm,
  applicationId: string,
  as: "canceled" | "delivered",
  now: number,
): Work<void> {
  const end = { ...ended, status: as, finished_at: now };
  yield* execute(orm.update(deliveries).set(end).where(isPendingOf(applicationId)));
}

/**
 * Makes the retries of an application due, inside a transaction. What a person asks for is an attempt of its own: the
 * schedule goes on behind it, at `resume_at`, as if it were not made.
 */
export function* hurryRetries(tables: Tables, orm: Orm, applicationId: string, now: number): Work<void> {
  const { deliveries } = tables;
  const { seq, attempts, next_attempt_at, resume_at } = deliveries;
  const isRetry = and(isWaiting(tables, applicationId), gt(next_attempt_at, 0), lt(attempts, maxAttempts));
  const retries = orm.select({ seq }).from(deliveries).where(isRetry);
  const soonest = retries.orderBy(next_attempt_at).limit(hurriedAtOnce);
  const asked = {
    resume_at: sql`coalesce(${resume_at}, ${next_attempt_at})`,
    next_attempt_at: sql`CASE WHEN ${next_attempt_at} > ${now} THEN ${now} ELSE ${next_attempt_at} END`,
  };
  yield* execute(
    orm
      .update(deliveries)
      .set(asked)
      .where(and(isPending(tables), inArray(seq, soonest))),
  );
}
