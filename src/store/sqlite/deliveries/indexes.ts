import type { Database } from "bun:sqlite";
import { deliveryRegionBits } from "../schema/events.ts";

interface Numbered {
  readonly seq: number;
}

/**
 * Prepares statements for the numbers of an application's deliveries in a range. INDEXED BY is necessary, because
 * SQLite would otherwise scan the table, which already has the wanted order.
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
    // SQLite uses the partial index only with this condition on the status.
    failedOrExpired: db.prepare<Numbered, [string, number, number, number]>(
      `SELECT seq FROM deliveries INDEXED BY deliveries_failed
       WHERE application_id = ? AND status IN ('failed', 'expired') ${bounded}`,
    ),
  };
}
