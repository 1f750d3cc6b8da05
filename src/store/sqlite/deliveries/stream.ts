import type { Database } from "bun:sqlite";
import { desc, eq, lte, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { StreamedDelivery } from "../../../domain/deliveries.ts";
import type { DeliveryStore } from "../../deliveries.ts";
import { mostStreamed, type StreamedRow, streamedDelivery } from "../../rows/streamed-rows.ts";
import { deliveries, deliveryRegionBits, events, removedDeliveries } from "../schema/events.ts";
import { type KeptBody, readableBody } from "./bodies.ts";
import { deliveryPositions, regionOf, regionSize } from "./positions.ts";

/** The most regions of the log that one call reads. */
const mostRegions = 256;

interface LookedRow extends StreamedRow {
  readonly body: KeptBody | null;
  readonly isShown: 0 | 1;
}

/** Reads of the log of deliveries for event streams: the deliveries of an application, region by region. */
export function deliveryStream(
  db: Database,
  orm: BunSQLiteDatabase,
): Pick<DeliveryStore, "last" | "lastBefore" | "publishedUpTo" | "lastRemoved" | "streamed"> {
  const { last, since } = deliveryPositions(orm);
  const lastRemoved = orm
    .select({ up_to: removedDeliveries.up_to })
    .from(removedDeliveries)
    .where(eq(removedDeliveries.application_id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const upTo = orm
    .select({ at: events.published_at })
    .from(deliveries)
    .innerJoin(events, eq(events.seq, deliveries.event_seq))
    .where(lte(deliveries.seq, sql.placeholder("seq")))
    .orderBy(desc(deliveries.seq))
    .limit(1)
    .prepare();
  // The inner query sorts numbers from the index alone, so that bodies are not sorted.
  const inRegion = db.prepare<LookedRow, [number, string, number, number | null]>(
    `SELECT d.seq, d.id, d.subscription_id, d.sequence,
            e.id AS event_id, e.name, e.version, e.body, e.published_at,
            d.status <> 'canceled' AND (?4 IS NULL OR e.broadcaster_user_id = ?4)
              AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = d.subscription_id) AS isShown
     FROM (SELECT seq FROM deliveries
           WHERE seq >> ${deliveryRegionBits} = ?1 AND application_id = ?2 AND seq > ?3 ORDER BY seq) AS those
     CROSS JOIN deliveries d ON d.seq = those.seq
     CROSS JOIN events e ON e.seq = d.event_seq
     ORDER BY those.seq`,
  );

  return {
    last: async () => last(),
    lastBefore: async (time) => Math.min(since(time) - 1, last()),
    publishedUpTo: async (seq) => upTo.get({ seq })?.at ?? null,
    lastRemoved: async (id) => lastRemoved.get({ id })?.up_to ?? 0,
    async streamed(applicationId, after, userId) {
      // Read first: deliveries that are committed after this must not count as read.
      const end = last();
      const found: StreamedDelivery[] = [];
      let bytes = 0;
      let lost = 0;
      const first = regionOf(after + 1);
      const lastRegion = Math.min(regionOf(end), first + mostRegions - 1);
      for (let region = first; region <= lastRegion; region++) {
        for (const row of inRegion.iterate(region, applicationId, after, userId)) {
          if (found.length >= mostStreamed.deliveries || bytes >= mostStreamed.bytes) {
            return { deliveries: found, lost, upTo: row.seq - 1, isAll: false };
          }
          if (row.isShown === 0) continue;
          const body = readableBody(row.body)?.toString() ?? null;
          if (body === null) lost++;
          else {
            bytes += body.length;
            found.push(streamedDelivery(row, body));
          }
        }
      }
      const lastLooked = (lastRegion + 1) * regionSize - 1;
      const isAll = end <= lastLooked;
      return { deliveries: found, lost, upTo: Math.max(after, Math.min(end, lastLooked)), isAll };
    },
  };
}
