import type { Database } from "bun:sqlite";
import { type Backlog, mostPendingCounted } from "../../../domain/delivery-log.ts";
import { TimeSlice } from "../../../runtime/event-loop.ts";

/** Rows counted between two checks of the time slice. */
const rowsAtOnce = 256;

/** Selects the numbers of pending deliveries of all applications, as many as are counted. */
export const pendingDeliveries = `SELECT seq FROM deliveries INDEXED BY deliveries_handed_out
    WHERE status = 'pending' AND next_attempt_at IS NULL
  UNION ALL SELECT seq FROM deliveries INDEXED BY deliveries_due WHERE next_attempt_at IS NOT NULL
  LIMIT ${mostPendingCounted}`;
const publishedAt = `SELECT e.published_at AS at FROM deliveries d JOIN events e ON e.seq = d.event_seq
  WHERE d.seq = ?`;

/** Counts the pending deliveries of all applications, on the connection of a snapshot. */
export async function backlogOfAll(moment: Database): Promise<Backlog> {
  const slice = new TimeSlice();
  let count = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (const { seq } of moment.query<{ seq: number }, []>(pendingDeliveries).iterate()) {
    oldest = Math.min(oldest, seq);
    if (++count % rowsAtOnce === 0 && slice.isOver) await slice.next();
  }
  const first = count === 0 ? null : moment.query<{ at: number }, [number]>(publishedAt).get(oldest);
  return { pending: count, oldest_pending_at: first?.at ?? null };
}
