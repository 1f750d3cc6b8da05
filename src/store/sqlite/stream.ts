import type { Database } from "bun:sqlite";
import type { StreamedDelivery } from "../../domain/deliveries.ts";
import type { DeliveryStore } from "../deliveries.ts";
import { deliveryRegionBits } from "./schema/events.ts";

/** What one call gives at most: deliveries, bytes of their bodies, and regions of the log that it looks at. */
const mostDeliveries = 256;
const mostBytes = 256 * 1024;
const mostRegions = 256;

interface Row {
  readonly seq: number;
  readonly id: string;
  readonly subscription_id: string;
  readonly sequence: number;
  readonly event_id: string;
  readonly name: string;
  readonly version: number;
  readonly body: string | null;
  readonly published_at: number;
  readonly isShown: 0 | 1;
}

/** The log of deliveries as event streams read it: by application, region for region. */
export function deliveryStream(
  db: Database,
): Pick<DeliveryStore, "last" | "lastBefore" | "lastRemoved" | "streamed"> {
  // By way of events, because they outlive their deliveries.
  const last = db.prepare<{ last: number }, []>(
    "SELECT first_delivery + deliveries - 1 AS last FROM events ORDER BY seq DESC LIMIT 1",
  );
  const firstSince = db.prepare<{ first_delivery: number }, [number]>(
    "SELECT first_delivery FROM events WHERE published_at >= ? ORDER BY published_at, seq LIMIT 1",
  );
  const lastRemoved = db.prepare<{ up_to: number }, [string]>(
    "SELECT up_to FROM removed_deliveries WHERE application_id = ? LIMIT 1",
  );
  // Numbers first, from the index alone, so that no body is sorted.
  const inRegion = db.prepare<Row, [number, string, number, number | null]>(
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

  const lastNow = () => last.get()?.last ?? 0;

  return {
    last: async () => lastNow(),
    async lastBefore(time) {
      const since = firstSince.get(time);
      return since ? since.first_delivery - 1 : lastNow();
    },
    lastRemoved: async (applicationId) => lastRemoved.get(applicationId)?.up_to ?? 0,
    async streamed(applicationId, after, userId) {
      // Before the look, so that what is committed meanwhile is not taken for seen.
      const end = lastNow();
      const deliveries: StreamedDelivery[] = [];
      let bytes = 0;
      let lost = 0;
      const first = regionOf(after + 1);
      const last = Math.min(regionOf(end), first + mostRegions - 1);
      for (let region = first; region <= last; region++) {
        for (const row of inRegion.iterate(region, applicationId, after, userId)) {
          if (deliveries.length >= mostDeliveries || bytes >= mostBytes) {
            return { deliveries, lost, upTo: row.seq - 1, isAll: false };
          }
          if (row.isShown === 0) continue;
          if (row.body === null) lost++;
          else {
            bytes += row.body.length;
            deliveries.push(deliveryOf(row, row.body));
          }
        }
      }
      const lastLooked = (last + 1) * regionSize - 1;
      return { deliveries, lost, upTo: Math.max(after, Math.min(end, lastLooked)), isAll: end <= lastLooked };
    },
  };
}

const regionSize = 2 ** deliveryRegionBits;
const regionOf = (seq: number) => Math.floor(seq / regionSize);

function deliveryOf(row: Row, body: string): StreamedDelivery {
  const { seq, id, subscription_id, sequence, event_id, name, version, published_at } = row;
  const event = { id: event_id, name, version, body };
  return { seq, id, subscription_id, sequence, attempts: 0, published_at, event };
}
