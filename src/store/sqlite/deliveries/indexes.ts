import type { Database } from "bun:sqlite";
import { deliveryRegionBits } from "../schema/events.ts";

interface Numbered {
  readonly seq: number;
}

/**
 * Numbers of an application's deliveries from one to below another, at most so many. SQLite is given the index, because it
 * would rather walk the table, which is in the order that is asked for.
 */
export function deliveryIndexes(db: Database, order: "ASC" | "DESC") {
  const region = `SELECT seq FROM deliveries INDEXED BY deliveries_application
     WHERE seq >> ${deliveryRegionBits} = ? AND application_id = ?`;
  const bounded = `AND seq >= ? AND seq < ? ORDER BY seq ${order} LIMIT ?`;
  return {
    inRegion: db.prepare<Numbered, [number, string, number, number, number]>(`${region} ${bounded}`),
    ofSubscription: db.prepare<Numbered, [number, string, string, number, number, number]>(
      `${region} AND subscription_id = ? ${bounded}`,
    ),
    // The condition on the status is what the partial index says of itself: without it SQLite would not use it.
    wentWrong: db.prepare<Numbered, [string, number, number, number]>(
      `SELECT seq FROM deliveries INDEXED BY deliveries_failed
       WHERE application_id = ? AND status IN ('failed', 'expired') ${bounded}`,
    ),
  };
}
