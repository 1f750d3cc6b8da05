import { desc, eq, gte, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { deliveries, deliveryRegionBits, events } from "../schema/events.ts";

/** Deliveries that share a region of the log, by whose number they are found in the index `deliveries_application`. */
export const regionSize = 2 ** deliveryRegionBits;

/** The region that a delivery's number is in. */
export const regionOf = (seq: number) => Math.floor(seq / regionSize);

/** Where the log of deliveries has what, by number: numbers ascend with the time of publishing. */
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
    /** The number from which on deliveries are of events published at a time or later; where there are none, a huge one. */
    since: (time: number): number => firstSince.get({ time })?.seq ?? Number.MAX_SAFE_INTEGER,
    /** The numbers of an event's deliveries, the last one not included; null: it is not known. */
    ofEvent: (id: string) => ofEvent.get({ id }) ?? null,
    /** The lowest number that is kept; null: there is none. */
    first: (): number | null => oldest.get()?.seq ?? null,
    /** The highest number given so far, 0 before the first: by way of events, because they outlive their deliveries. */
    last(): number {
      const newest = newestEvent.get();
      return newest ? newest.first + newest.many - 1 : 0;
    },
  };
}
