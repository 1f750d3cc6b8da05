import type { DeliveryStore } from "../../deliveries.ts";
import { mostStreamed, type StreamedRow, streamedDelivery } from "../../rows/streamed-rows.ts";
import type { Queries } from "../database/pool.ts";
import { deliveryPositions } from "./positions.ts";

interface LookedRow extends StreamedRow {
  readonly body: string | null;
  readonly is_shown: boolean;
  /** Whether it fits into this part of the stream. Otherwise `body` is null. */
  readonly fits: boolean;
}

/** The next deliveries after a number ($2) up to another ($3), and one more than fits into a part. */
const ahead = `
WITH those AS (
  SELECT d.*, e.body, sum(coalesce(length(e.body), 0)) OVER (ORDER BY d.seq) - coalesce(length(e.body), 0) AS before
  FROM (SELECT * FROM deliveries WHERE application_id = $1 AND seq > $2 AND seq <= $3
        ORDER BY seq LIMIT ${mostStreamed.deliveries + 1}) AS d
  LEFT JOIN events e ON e.seq = d.event_seq
)
SELECT t.seq::float8, id, subscription_id, sequence::float8, event_id, type AS name, version::float8, published_at::float8,
  before < ${mostStreamed.bytes} AS fits, CASE WHEN before < ${mostStreamed.bytes} THEN body END AS body,
  status <> 'canceled' AND ($4::bigint IS NULL OR broadcaster_user_id = $4)
    AND (SELECT count(*) > 0 FROM subscriptions s WHERE s.id = t.subscription_id) AS is_shown
FROM those t ORDER BY t.seq`;

/** Reads of the log of deliveries for event streams. */
export function deliveryStream(
  queries: Queries,
): Pick<DeliveryStore, "last" | "lastBefore" | "publishedUpTo" | "lastRemoved" | "streamed"> {
  const { last, between } = deliveryPositions(queries);
  return {
    last,
    async lastBefore(time) {
      const end = await last();
      const { from } = await between(time, null);
      const [row] = await queries.run<{ seq: number }>(
        `SELECT seq::float8 FROM deliveries WHERE seq >= $1 AND seq <= $2 AND published_at >= $3
         ORDER BY deliveries.seq LIMIT 1`,
        [from, end, time],
      );
      return row ? row.seq - 1 : end;
    },
    async publishedUpTo(seq) {
      const [row] = await queries.run<{ at: number }>(
        "SELECT published_at::float8 AS at FROM deliveries WHERE seq <= $1 ORDER BY deliveries.seq DESC LIMIT 1",
        [seq],
      );
      return row?.at ?? null;
    },
    async lastRemoved(applicationId) {
      const [row] = await queries.run<{ up_to: number }>(
        "SELECT up_to::float8 FROM removed_deliveries WHERE application_id = $1",
        [applicationId],
      );
      return row?.up_to ?? 0;
    },
    async streamed(applicationId, after, userId) {
      // Read before the rows. Above this number, rows may still be committed out of order.
      const end = await last();
      const rows = await queries.run<LookedRow>(ahead, [applicationId, after, end, userId]);
      const given = rows.slice(0, mostStreamed.deliveries).filter(({ fits }) => fits);
      const isAll = given.length === rows.length;
      const shown = given.filter(({ is_shown }) => is_shown);
      return {
        deliveries: shown.flatMap((row) => (row.body === null ? [] : streamedDelivery(row, row.body))),
        lost: shown.filter(({ body }) => body === null).length,
        upTo: Math.max(after, isAll ? end : (given.at(-1)?.seq ?? after)),
        isAll,
      };
    },
  };
}
