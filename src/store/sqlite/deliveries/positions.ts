import { desc, gte, sql } from "drizzle-orm";
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
  const newestEvent = orm
    .select({ first: events.first_delivery, many: events.deliveries })
    .from(events)
    .orderBy(desc(events.seq))
    .limit(1)
    .prepare();
  return {
    /** The number from which on deliveries are of events published at a time or later; where there are none, a huge one. */
    since: (time: number): number => firstSince.get({ time })?.seq ?? Number.MAX_SAFE_INTEGER,
    /** The lowest number that is kept; null: there is none. */
    first: (): number | null => oldest.get()?.seq ?? null,
    /** The highest number given so far, 0 before the first: by way of events, because they outlive their deliveries. */
    last(): number {
      const newest = newestEvent.get();
      return newest ? newest.first + newest.many - 1 : 0;
    },
  };
}
