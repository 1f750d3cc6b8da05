import { lt, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { idempotencyMs, type Retention } from "../../../domain/deliveries.ts";
import { keepDisabledMs } from "../../../domain/endpoints.ts";
import { hour } from "../../../domain/time.ts";
import { deliveryPositions } from "../deliveries/positions.ts";
import { endpoints } from "../schema/events.ts";
import { type NumberRange, passedOver } from "./passes.ts";
import { deliveryStatements, eventStatements, expiry, stepRows } from "./statements.ts";

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
export function pruner(orm: BunSQLiteDatabase) {
  const { since, last } = deliveryPositions(orm);
  const { slice, removeAttempts, noteRemoved, removeDeliveries } = deliveryStatements(orm);
  const { some, firstSince, newest, hasDeliveries, hasPending, removeEvent, removeBody, removeStaged } =
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
    const [behindAll, newestEvent] = [last() + 1, newest.get()?.seq ?? 0];
    const numbers = {
      deliveries: [delivered, failed, ...Object.values(types)].map((seq) => Math.min(seq, behindAll)),
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
      // The newest event is never removed. It is checked again when there is a newer one.
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
      const its = { from, behind: from + deliveries };
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
    const behind = since(now - keepDisabledMs);
    return disabled
      .all({ before: now - keepDisabledMs })
      .every(({ application_id }) => expire.all({ application_id, behind, now }).length < stepRows);
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
      // All staged events were moved before this commit. These copies are unused, so the shortest time applies to all.
      removeStaged.run({ before: Math.max(pass.bodies, ...Object.values(pass.bodyTypes)) });
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
