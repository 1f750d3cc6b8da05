import { and, between, eq, exists, gt, gte, inArray, isNotNull, lt, lte, max, ne, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { idempotencyMs, type Retention, type RetentionStore } from "../../domain/deliveries.ts";
import { keepDisabledMs } from "../../domain/endpoints.ts";
import { hour } from "../../domain/time.ts";
import type { Commit } from "./commit.ts";
import { deliveryPositions } from "./delivery-rows.ts";
import {
  applications,
  attempts,
  deliveries,
  endpoints,
  events,
  placeholders,
  removedDeliveries,
} from "./schema.ts";
import type { DataSize } from "./sizes.ts";

/** Numbers from `from` to below `end`. */
interface NumberRange {
  from: number;
  end: number;
}

/**
 * Returns the ranges over which boundaries have moved from `before` to `now`, in order and merged. With null, returns
 * everything below the highest boundary.
 */
function passedOver(before: readonly number[] | null, now: readonly number[]): NumberRange[] {
  const ranges = now
    .map((end, which) => ({ from: before?.[which] ?? 0, end }))
    .filter(({ from, end }) => from < end)
    .sort((a, b) => a.from - b.from);
  const merged: NumberRange[] = [];
  for (const range of ranges) {
    const last = merged.at(-1);
    if (last && range.from <= last.end) last.end = Math.max(last.end, range.end);
    else merged.push(range);
  }
  return merged;
}

/** The rows of one step, which blocks the event loop for a few milliseconds. */
const stepRows = 500;

const from = sql.placeholder("from");
const end = sql.placeholder("end");

/** Prepares the statements for ranges of deliveries. */
function deliveryStatements(orm: BunSQLiteDatabase) {
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
    .where(and(gte(seq, from), lt(seq, end)))
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
function eventStatements(orm: BunSQLiteDatabase) {
  const { seq, first_delivery, published_at } = events;
  const isIt = eq(seq, sql.placeholder("seq"));
  const isIts = and(gte(deliveries.seq, from), lt(deliveries.seq, end));
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
      .where(and(gte(seq, from), lt(seq, end)))
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
          lte(sql`${first_delivery} + ${events.deliveries}`, end),
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
  };
}

/** Prepares the statement that expires some pending deliveries of an endpoint that has been disabled for too long. */
function expiry(orm: BunSQLiteDatabase) {
  const { seq, application_id, next_attempt_at } = deliveries;
  const some = orm
    .select({ seq })
    .from(deliveries)
    .where(
      and(eq(application_id, sql.placeholder("application_id")), isNotNull(next_attempt_at), lt(seq, end)),
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

/** The most deliveries of the events of one step, because all of them are checked. */
const stepDeliveries = 20_000;

/** How often a pass covers all old data, for deliveries that were still pending when their time came. */
const completeEveryMs = 6 * hour;

/** The first numbers that are kept: of delivered and of other deliveries, and of deliveries by event type. */
interface Boundaries {
  readonly delivered: number;
  readonly failed: number;
  readonly types: Readonly<Record<string, number>>;
}

interface Pass {
  readonly deliveries: Boundaries;
  /** Bodies of events published before this time are removed, as are those of a type before its own time. */
  readonly bodies: number;
  readonly bodyTypes: Readonly<Record<string, number>>;
  /** Events published before this time are removed with their last delivery. */
  readonly ids: number;
  /** Numbers that are still to be checked. */
  readonly deliveryRanges: NumberRange[];
  readonly eventRanges: NumberRange[];
  /** Where the next pass begins. */
  readonly reached: Reached;
}

/** The boundaries of a pass as numbers of deliveries and of events. */
interface Reached {
  readonly deliveries: readonly number[];
  readonly events: readonly number[];
}

/**
 * Removes old data, some rows in each step, within a commit. A pass checks the rows that have become too old since the
 * previous pass. Deliveries are found by their numbers, which ascend with time.
 */
function pruner(orm: BunSQLiteDatabase) {
  const { since, last } = deliveryPositions(orm);
  const { slice, removeAttempts, noteRemoved, removeDeliveries } = deliveryStatements(orm);
  const { some, firstSince, newest, hasDeliveries, hasPending, removeEvent, removeBody } =
    eventStatements(orm);
  const expire = expiry(orm);
  const disabled = orm
    .select({ application_id: endpoints.application_id })
    .from(endpoints)
    .where(lt(endpoints.disabled_at, sql.placeholder("before")))
    .prepare();

  let pass: Pass | null = null;
  let reached: Reached | null = null;
  let completeAt = 0;

  const begin = ({ deliveredMs, failedMs, bodiesMs, byType = {} }: Retention, now: number): Pass => {
    const typeTimes = Object.entries(byType).map(([type, ms]) => [type, now - ms] as const);
    const types = Object.fromEntries(typeTimes.map(([type, time]) => [type, since(time)]));
    const [delivered, failed, ids] = [since(now - deliveredMs), since(now - failedMs), now - idempotencyMs];
    // An event is removed with its last delivery, so it is checked whenever one of its deliveries may be removed.
    const times = [
      ids,
      now - bodiesMs,
      now - deliveredMs,
      now - failedMs,
      ...typeTimes.map(([, time]) => time),
    ];
    // If all data is too old, the boundary is the end of the data, so that the next pass checks later rows.
    const [afterLast, newestEvent] = [last() + 1, newest.get()?.seq ?? 0];
    const numbers = {
      deliveries: [delivered, failed, ...Object.values(types)].map((seq) => Math.min(seq, afterLast)),
      events: times.map((time) => firstSince.get({ time })?.seq ?? newestEvent + 1),
    };
    const isComplete = reached === null || Math.abs(now - completeAt) >= completeEveryMs;
    if (isComplete) completeAt = now;
    const before = isComplete ? null : reached;
    return {
      deliveries: { delivered, failed, types },
      bodies: now - bodiesMs,
      bodyTypes: Object.fromEntries(typeTimes),
      ids,
      deliveryRanges: passedOver(before?.deliveries ?? null, numbers.deliveries),
      eventRanges: passedOver(before?.events ?? null, numbers.events),
      // The newest event is never removed. It is checked again when there is a newer event.
      reached: { ...numbers, events: numbers.events.map((seq) => Math.min(seq, newestEvent)) },
    };
  };

  const pruneDeliveries = (range: NumberRange, { delivered, failed, types }: Boundaries): boolean => {
    const last = slice.get({ ...range })?.last ?? null;
    if (last === null) return true;
    const old = { from: range.from, last, delivered, failed, types: JSON.stringify(types) };
    removeAttempts.run(old);
    noteRemoved.run(old);
    removeDeliveries.run(old);
    range.from = last + 1;
    return false;
  };

  const pruneEvents = (range: NumberRange, { bodies, bodyTypes, ids }: Pass): boolean => {
    const rows = some.all({ ...range });
    let looked = 0;
    for (const { seq, name, first_delivery: from, deliveries, published_at, hasBody } of rows) {
      const bodiesBefore = Object.hasOwn(bodyTypes, name) ? (bodyTypes[name] ?? 0) : bodies;
      const its = { from, end: from + deliveries };
      range.from = seq + 1;
      const isOver = published_at < ids && !hasDeliveries.get(its);
      const isRemoved = isOver && removeEvent.get({ seq }) !== undefined;
      if (!isRemoved && hasBody && published_at < bodiesBefore && !hasPending.get(its)) removeBody({ seq });
      looked += deliveries + 1;
      if (looked >= stepDeliveries) return false;
    }
    return rows.length < stepRows;
  };

  const expireDisabled = (now: number): boolean => {
    const end = since(now - keepDisabledMs);
    return disabled
      .all({ before: now - keepDisabledMs })
      .every(({ application_id }) => expire.all({ application_id, end, now }).length < stepRows);
  };

  return {
    /** Returns true at the end of a pass. */
    step(retention: Retention, now: number): boolean {
      if (!expireDisabled(now)) return false;
      pass ??= begin(retention, now);
      const [deliveryRange, eventRange] = [pass.deliveryRanges[0], pass.eventRanges[0]];
      if (deliveryRange) {
        if (pruneDeliveries(deliveryRange, pass.deliveries)) pass.deliveryRanges.shift();
        return false;
      }
      if (eventRange) {
        if (pruneEvents(eventRange, pass)) pass.eventRanges.shift();
        return false;
      }
      reached = pass.reached;
      pass = null;
      return true;
    },
    /** Call this when a step was rolled back: the next pass checks everything. */
    reset(): void {
      pass = null;
      reached = null;
    },
  };
}

/**
 * Removes finished deliveries before their retention ends, some rows in each step, within a commit: delivered ones,
 * oldest first, and when none is left, all others. Bodies are removed with the last delivery of their event.
 */
function trimmer(orm: BunSQLiteDatabase) {
  const { slice, removeAttempts, noteRemoved, removeDeliveries } = deliveryStatements(orm);
  const { eventsUpTo, hasDeliveries, removeBody } = eventStatements(orm);
  let from = 0;
  let lastEvent = 0;
  let isForAll = false;

  const trimDeliveries = (last: number): void => {
    const failed = isForAll ? last + 1 : 0;
    const old = { from, last, delivered: last + 1, failed, types: "{}" };
    removeAttempts.run(old);
    noteRemoved.run(old);
    removeDeliveries.run(old);
    from = last + 1;
  };

  /** Removes some bodies of events without stored deliveries. Returns false when there may be more of them. */
  const trimBodies = (end: number): boolean => {
    const some = eventsUpTo.all({ after: lastEvent, end });
    for (const { seq, first_delivery, deliveries } of some) {
      const its = { from: first_delivery, end: first_delivery + deliveries };
      if (!hasDeliveries.get(its)) removeBody({ seq });
      lastEvent = seq;
    }
    return some.length < stepRows;
  };

  const reset = (): void => {
    [from, lastEvent, isForAll] = [0, 0, false];
  };

  return {
    /** Returns true when nothing is left that may be removed. */
    step(): boolean {
      const last = slice.get({ from, end: Number.MAX_SAFE_INTEGER })?.last ?? null;
      if (last !== null) trimDeliveries(last);
      // Events without deliveries also follow the last delivery.
      if (!trimBodies(last === null ? Number.MAX_SAFE_INTEGER : from) || last !== null) return false;
      const isOver = isForAll;
      reset();
      isForAll = !isOver;
      return isOver;
    },
    /** The next step begins again with the oldest delivered rows. */
    reset,
  };
}

export function retentionStore(orm: BunSQLiteDatabase, commit: Commit, size: DataSize): RetentionStore {
  const prune = pruner(orm);
  const trim = trimmer(orm);
  /** Resets the progress when a step is rolled back. */
  const orReset = (work: Promise<boolean>, { reset }: { reset(): void }) =>
    work.catch((error) => {
      reset();
      throw error;
    });
  return {
    prune: (retention, now) =>
      orReset(
        commit(() => prune.step(retention, now)),
        prune,
      ),
    async trim(maxBytes) {
      size.limit(maxBytes);
      if (size.isLarge()) return orReset(commit(trim.step), trim);
      trim.reset();
      return true;
    },
    async shrink() {
      if (!size.hasSpare()) return true;
      await commit(size.giveBack);
      return false;
    },
  };
}
