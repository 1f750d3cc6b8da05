import { and, eq, gt, inArray, isNotNull, lt, sql } from "drizzle-orm";
import { maxAttempts } from "../../../domain/delivery-log.ts";
import type { RemovedSubscriptions } from "../../subscriptions.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "../dialect.ts";

/** The most deliveries canceled at once. Those of a longer backlog are canceled when they would be sent. */
const cancelAtOnce = 10_000;

/** The most retries made due when an endpoint is enabled. Later ones keep their schedule. */
const retriesAtOnce = 10_000;

/** A literal, because a parameter would not match the partial indexes. */
const isPending = ({ deliveries }: Tables) => sql`${deliveries.status} = 'pending'`;

/** Condition: a delivery waits in the store. On SQLite this excludes deliveries in the dispatcher's memory. */
const isWaiting = (tables: Tables, applicationId: string) =>
  and(
    eq(tables.deliveries.application_id, applicationId),
    isPending(tables),
    isNotNull(tables.deliveries.next_attempt_at),
  );

const ended = { next_attempt_at: null, resume_at: null };

/**
 * Cancels the waiting deliveries of removed subscriptions, inside a transaction. The dispatcher is notified for those
 * in its memory: it starts no more attempts, and records attempts in progress.
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
 * Ends the pending deliveries of an application, inside a transaction. They become `delivered` when it now uses only
 * its event stream, from which it can read them.
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
 * Makes the retries of an application due, inside a transaction. An attempt that a person asks for is an extra one: the
 * schedule continues after it, at `resume_at`, as if it had not been made.
 */
export function* makeRetriesDue(tables: Tables, orm: Orm, applicationId: string, now: number): Work<void> {
  const { deliveries } = tables;
  const { seq, attempts, next_attempt_at, resume_at } = deliveries;
  const isRetry = and(isWaiting(tables, applicationId), gt(next_attempt_at, 0), lt(attempts, maxAttempts));
  const retries = orm.select({ seq }).from(deliveries).where(isRetry);
  const soonest = retries.orderBy(next_attempt_at).limit(retriesAtOnce);
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
