import { and, between, eq, exists, gt, gte, inArray, isNotNull, lt, max, ne, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { idempotencyMs, type Retention } from "../../domain/deliveries.ts";
import { keepDisabledMs } from "../../domain/endpoints.ts";
import type { RetentionStore } from "../retention.ts";
import type { Commit } from "./database/commit.ts";
import { deliveryPositions } from "./deliveries/positions.ts";
import { applications } from "./schema/access.ts";
import { attempts, deliveries, endpoints, events, removedDeliveries, stagedEvents } from "./schema/events.ts";

/** Rows of a step, which hold up the event loop for some milliseconds. */
const stepRows = 500;
/** Deliveries that the events of one step may have together: all of them are looked at. */
const stepDeliveries = 20_000;

/**
 * Removes what is no longer kept, in passes over the log from its beginning, a few rows in each step. Deliveries are
 * found by the number from which on their events are younger, because numbers ascend with time.
 */
export function retentionStore(orm: BunSQLiteDatabase, commit: Commit): RetentionStore {
  const { since } = deliveryPositions(orm);
  const { slice, removeAttempts, noteRemoved, removeDeliveries } = deliveryStatements(orm);
  const { oldEvents, hasDeliveries, hasPending, removeEvent, removeBody, removeStaged } =
    eventStatements(orm);
  const expire = expiry(orm);
  const disabled = orm
    .select({ application_id: endpoints.application_id })
    .from(endpoints)
    .where(lt(endpoints.disabled_at, sql.placeholder("before")))
    .prepare();

  let nextDelivery = 0;
  let lastEvent = 0;

  const pruneDeliveries = (delivered: number, failed: number): boolean => {
    const last = slice.get({ from: nextDelivery, behind: Math.max(delivered, failed) })?.last ?? null;
    if (last === null) return true;
    const old = { from: nextDelivery, last, delivered, failed };
    removeAttempts.run(old);
    noteRemoved.run(old);
    removeDeliveries.run(old);
    nextDelivery = last + 1;
    return false;
  };

  const pruneEvents = (bodiesBefore: number, eventsBefore: number): boolean => {
    let looked = 0;
    for (const row of oldEvents.all({ after: lastEvent, before: Math.max(bodiesBefore, eventsBefore) })) {
      const { seq, first_delivery: from, deliveries, published_at, hasBody } = row;
      const its = { from, behind: from + deliveries };
      lastEvent = seq;
      const isOver = published_at < eventsBefore && !hasDeliveries.get(its);
      const isRemoved = isOver && removeEvent.get({ seq }) !== undefined;
      if (!isRemoved && hasBody && published_at < bodiesBefore && !hasPending.get(its)) {
        removeBody.run({ seq });
      }
      looked += deliveries + 1;
      if (looked >= stepDeliveries) return false;
    }
    return looked < stepRows;
  };

  const expireDisabled = (now: number): boolean => {
    const behind = since(now - keepDisabledMs);
    return disabled
      .all({ before: now - keepDisabledMs })
      .every(({ application_id }) => expire.all({ application_id, behind, now }).length < stepRows);
  };

  const step = ({ deliveredMs, failedMs, bodiesMs }: Retention, now: number): boolean => {
    if (!expireDisabled(now)) return false;
    if (!pruneDeliveries(since(now - deliveredMs), since(now - failedMs))) return false;
    if (!pruneEvents(now - bodiesMs, now - idempotencyMs)) return false;
    // What was staged was moved before this commit.
    removeStaged.run({ before: now - bodiesMs });
    [nextDelivery, lastEvent] = [0, 0];
    return true;
  };

  return { prune: (retention, now) => commit(() => step(retention, now)) };
}

const from = sql.placeholder("from");
const behind = sql.placeholder("behind");

/** Of deliveries, some at a time. */
function deliveryStatements(orm: BunSQLiteDatabase) {
  const { seq, status, application_id } = deliveries;
  const last = sql.placeholder("last");
  const keptFrom = sql`CASE ${status} WHEN 'delivered' THEN ${sql.placeholder("delivered")}
    ELSE ${sql.placeholder("failed")} END`;
  const isOld = and(ne(status, "pending"), lt(seq, keptFrom));
  const some = orm
    .select({ seq })
    .from(deliveries)
    .where(and(gte(seq, from), lt(seq, behind)))
    .orderBy(seq)
    .limit(stepRows)
    .as("some");
  const itsDelivery = orm
    .select({ seq })
    .from(deliveries)
    .where(and(eq(seq, attempts.delivery_seq), isOld));
  const newest = orm
    .select({ application_id, up_to: max(seq).as("up_to") })
    .from(deliveries)
    .innerJoin(applications, eq(applications.id, application_id))
    .where(and(between(seq, from, last), isOld, ne(status, "canceled")))
    .groupBy(application_id);
  const upTo = sql`max(${removedDeliveries.up_to}, excluded.up_to)`;
  return {
    slice: orm
      .select({ last: max(some.seq) })
      .from(some)
      .prepare(),
    removeAttempts: orm
      .delete(attempts)
      .where(and(between(attempts.delivery_seq, from, last), exists(itsDelivery)))
      .prepare(),
    noteRemoved: orm
      .insert(removedDeliveries)
      .select(newest)
      .onConflictDoUpdate({ target: removedDeliveries.application_id, set: { up_to: upTo } })
      .prepare(),
    removeDeliveries: orm
      .delete(deliveries)
      .where(and(between(seq, from, last), isOld))
      .prepare(),
  };
}

/** Of events, one by one. */
function eventStatements(orm: BunSQLiteDatabase) {
  const { seq, first_delivery, published_at } = events;
  const isIt = eq(seq, sql.placeholder("seq"));
  const isIts = and(gte(deliveries.seq, from), lt(deliveries.seq, behind));
  const found = { seq: deliveries.seq };
  const newest = orm.select({ seq: max(seq) }).from(events);
  return {
    oldEvents: orm
      .select({
        seq,
        first_delivery,
        deliveries: events.deliveries,
        published_at,
        hasBody: sql<boolean>`${events.body} IS NOT NULL`.mapWith(Boolean),
      })
      .from(events)
      .where(and(gt(seq, sql.placeholder("after")), lt(published_at, sql.placeholder("before"))))
      .orderBy(seq)
      .limit(stepRows)
      .prepare(),
    hasDeliveries: orm.select(found).from(deliveries).where(isIts).limit(1).prepare(),
    hasPending: orm
      .select(found)
      .from(deliveries)
      .where(and(isIts, eq(deliveries.status, "pending")))
      .limit(1)
      .prepare(),
    // The last one stays: the numbers of deliveries go on from it, also after a restart.
    removeEvent: orm
      .delete(events)
      .where(and(isIt, lt(seq, newest)))
      .returning({ seq })
      .prepare(),
    removeBody: orm.update(events).set({ body: null }).where(isIt).prepare(),
    removeStaged: orm
      .delete(stagedEvents)
      .where(lt(stagedEvents.published_at, sql.placeholder("before")))
      .prepare(),
  };
}

/** Ends some pending deliveries of an endpoint that has been disabled for too long. */
function expiry(orm: BunSQLiteDatabase) {
  const { seq, application_id, next_attempt_at } = deliveries;
  const some = orm
    .select({ seq })
    .from(deliveries)
    .where(
      and(eq(application_id, sql.placeholder("application_id")), isNotNull(next_attempt_at), lt(seq, behind)),
    )
    .limit(stepRows);
  return orm
    .update(deliveries)
    .set({ status: "expired", next_attempt_at: null, finished_at: sql`${sql.placeholder("now")}` })
    .where(inArray(seq, some))
    .returning({ seq })
    .prepare();
}
