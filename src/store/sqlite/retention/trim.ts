import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { deliveryStatements, eventStatements, stepRows } from "./statements.ts";

/**
 * Removes finished deliveries before their retention ends, some rows in each step, within a commit: delivered ones,
 * oldest first, and when none is left, all others. Bodies are removed with the last delivery of their event.
 */
export function trimmer(orm: BunSQLiteDatabase) {
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
  const trimBodies = (behind: number): boolean => {
    const some = eventsUpTo.all({ after: lastEvent, behind });
    for (const { seq, first_delivery, deliveries } of some) {
      const its = { from: first_delivery, behind: first_delivery + deliveries };
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
      const last = slice.get({ from, behind: Number.MAX_SAFE_INTEGER })?.last ?? null;
      if (last !== null) trimDeliveries(last);
      // Events without deliveries also follow the last delivery.
      if (!trimBodies(last === null ? Number.MAX_SAFE_INTEGER : from) || last !== null) return false;
      const isOver = isForAll;
      reset();
      isForAll = !isOver;
      return isOver;
    },
    /** The next step begins again with the oldest delivered ones. */
    reset,
  };
}
