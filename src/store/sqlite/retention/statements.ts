import { and, between, eq, exists, gt, gte, inArray, isNotNull, lt, lte, max, ne, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { applications } from "../schema/access.ts";
import { placeholders } from "../schema/columns.ts";
import { attempts, deliveries, events, removedDeliveries, stagedEvents } from "../schema/events.ts";

/** The rows of one step, which blocks the event loop for a few milliseconds. */
export const stepRows = 500;

const from = sql.placeholder("from");
const behind = sql.placeholder("behind");

/** Prepares the statements for ranges of deliveries. */
export function deliveryStatements(orm: BunSQLiteDatabase) {
  const { seq, status, application_id } = deliveries;
  const last = sql.placeholder("last");
  const keptFrom = sql`ifnull(
    (SELECT value FROM json_each(${sql.placeholder("types")})
     WHERE key = (SELECT ${events.name} FROM ${events} WHERE ${events.seq} = ${deliveries.event_seq})),
    CASE ${status} WHEN 'delivered' THEN ${sql.placeholder("delivered")} ELSE ${sql.placeholder("failed")} END)`;
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

/** Prepares the statements for single events. */
export function eventStatements(orm: BunSQLiteDatabase) {
  const { seq, first_delivery, published_at } = events;
  const isIt = eq(seq, sql.placeholder("seq"));
  const isIts = and(gte(deliveries.seq, from), lt(deliveries.seq, behind));
  const found = { seq: deliveries.seq };
  const newest = orm.select({ seq: max(seq) }).from(events);
  const one = orm.select().from(events).where(isIt).limit(1).prepare();
  const remove = orm.delete(events).where(isIt).prepare();
  const { body: _, ...columns } = placeholders(events);
  const add = orm.insert(events).values(columns).prepare();
  return {
    /** The next events in a range of numbers. */
    some: orm
      .select({
        seq,
        name: events.name,
        first_delivery,
        deliveries: events.deliveries,
        published_at,
        hasBody: sql<boolean>`${events.body} IS NOT NULL`.mapWith(Boolean),
      })
      .from(events)
      .where(and(gte(seq, from), lt(seq, behind)))
      .orderBy(seq)
      .limit(stepRows)
      .prepare(),
    newest: orm
      .select({ seq: max(seq) })
      .from(events)
      .prepare(),
    firstSince: orm
      .select({ seq })
      .from(events)
      .where(gte(published_at, sql.placeholder("time")))
      .orderBy(published_at, seq)
      .limit(1)
      .prepare(),
    eventsUpTo: orm
      .select({ seq, first_delivery, deliveries: events.deliveries })
      .from(events)
      .where(
        and(
          gt(seq, sql.placeholder("after")),
          isNotNull(events.body),
          lte(sql`${first_delivery} + ${events.deliveries}`, behind),
        ),
      )
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
    // The newest event stays, because the next number of a delivery is derived from it after a restart.
    removeEvent: orm
      .delete(events)
      .where(and(isIt, lt(seq, newest)))
      .returning({ seq })
      .prepare(),
    // Deleted and inserted again: an UPDATE that shortens a row would free no page.
    removeBody({ seq: which }: { readonly seq: number }): void {
      const row = one.get({ seq: which });
      if (!row) return;
      remove.run({ seq: which });
      add.run({ ...row });
    },
    removeStaged: orm
      .delete(stagedEvents)
      .where(lt(stagedEvents.published_at, sql.placeholder("before")))
      .prepare(),
  };
}

/** Prepares the statement that expires some pending deliveries of an endpoint that has been disabled for too long. */
export function expiry(orm: BunSQLiteDatabase) {
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
    .set({
      status: "expired",
      next_attempt_at: null,
      resume_at: null,
      finished_at: sql`${sql.placeholder("now")}`,
    })
    .where(inArray(seq, some))
    .returning({ seq })
    .prepare();
}
