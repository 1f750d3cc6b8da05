import { desc, eq, gte, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { deliveries, deliveryRegionBits, events } from "../schema/events.ts";

/** Deliveries of one region of the log. The index `deliveries_application` begins with the number of the region. */
export const regionSize = 2 ** deliveryRegionBits;

/** Returns the region of a delivery. */
export const regionOf = (seq: number) => Math.floor(seq / regionSize);

/** Finds positions in the log of deliveries. Numbers ascend with the time of publishing. */
export function deliveryPositions(orm: BunSQLiteDatabase) {
  const firstSince = orm
    .select({ seq: events.first_delivery })
    .from(events)
    .where(gte(events.published_at, sql.placeholder("time")))
    .orderBy(events.published_at, events.seq)
    .limit(1)
    .prepare();
  const oldest = orm
    .select({ seq: deliveries.seq })
    .from(deliveries)
    .orderBy(deliveries.seq)
    .limit(1)
    .prepare();
  const newestDelivery = orm
    .select({ seq: deliveries.seq })
    .from(deliveries)
    .orderBy(desc(deliveries.seq))
    .limit(1)
    .prepare();
  const ofEvent = orm
    .select({
      from: events.first_delivery,
      behind: sql<number>`${events.first_delivery} + ${events.deliveries}`,
    })
    .from(events)
    .where(eq(events.id, sql.placeholder("id")))
    .prepare();
  const newestEvent = orm
    .select({ first: events.first_delivery, many: events.deliveries })
    .from(events)
    .orderBy(desc(events.seq))
    .limit(1)
    .prepare();
  return {
    /** The number of the first delivery published at or after a time; MAX_SAFE_INTEGER when there is none. */
    since: (time: number): number => firstSince.get({ time })?.seq ?? Number.MAX_SAFE_INTEGER,
    /** The numbers of an event's deliveries, from `from` to below `behind`; null for an unknown event. */
    ofEvent: (id: string) => ofEvent.get({ id }) ?? null,
    /** The lowest stored number; null when there is none. */
    first: (): number | null => oldest.get()?.seq ?? null,
    /** The highest number given so far; 0 before the first. Events outlive their deliveries. */
    last(): number {
      const newest = newestEvent.get();
      return Math.max(newest ? newest.first + newest.many - 1 : 0, newestDelivery.get()?.seq ?? 0);
    },
  };
}
