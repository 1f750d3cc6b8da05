import type { Database } from "bun:sqlite";
import { idempotencyMs, type Retention } from "../../domain/deliveries.ts";
import { keepDisabledMs } from "../../domain/endpoints.ts";
import type { RetentionStore } from "../retention.ts";
import type { Commit } from "./commit.ts";

/** Rows of a step, which hold up the event loop for some milliseconds. */
const stepRows = 500;
/** Deliveries that the events of one step may have together: all of them are looked at. */
const stepDeliveries = 20_000;

interface OldEvent {
  readonly seq: number;
  readonly first_delivery: number;
  readonly deliveries: number;
  readonly published_at: number;
  readonly hasBody: 0 | 1;
}

/**
 * Removes what is no longer kept, in passes over the log from its beginning, a few rows in each step. Deliveries are
 * found by the number from which on their events are younger, because numbers ascend with time.
 */
export function retentionStore(db: Database, commit: Commit): RetentionStore {
  const firstSince = db.prepare<{ first_delivery: number }, [number]>(
    "SELECT first_delivery FROM events WHERE published_at >= ? ORDER BY published_at, seq LIMIT 1",
  );
  const slice = db.prepare<{ last: number | null }, [number, number, number]>(
    "SELECT max(seq) AS last FROM (SELECT seq FROM deliveries WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?)",
  );
  const old = `status <> 'pending' AND seq < CASE status WHEN 'delivered' THEN ? ELSE ? END`;
  const removeAttempts = db.prepare<null, [number, number, number, number]>(
    `DELETE FROM attempts WHERE delivery_seq BETWEEN ? AND ?
       AND EXISTS (SELECT 1 FROM deliveries WHERE seq = delivery_seq AND ${old})`,
  );
  const noteRemoved = db.prepare<null, [number, number, number, number]>(
    `INSERT INTO removed_deliveries (application_id, up_to)
       SELECT application_id, max(seq) FROM deliveries
       WHERE seq BETWEEN ? AND ? AND ${old} AND status <> 'canceled'
         AND EXISTS (SELECT 1 FROM applications a WHERE a.id = application_id)
       GROUP BY application_id
     ON CONFLICT (application_id) DO UPDATE SET up_to = max(up_to, excluded.up_to)`,
  );
  const removeDeliveries = db.prepare<null, [number, number, number, number]>(
    `DELETE FROM deliveries WHERE seq BETWEEN ? AND ? AND ${old}`,
  );
  const oldEvents = db.prepare<OldEvent, [number, number, number]>(
    `SELECT seq, first_delivery, deliveries, published_at, body IS NOT NULL AS hasBody FROM events
     WHERE seq > ? AND published_at < ? ORDER BY seq LIMIT ?`,
  );
  const hasDeliveries = db.prepare<{ found: 1 }, [number, number]>(
    "SELECT 1 AS found FROM deliveries WHERE seq >= ? AND seq < ? LIMIT 1",
  );
  const hasPending = db.prepare<{ found: 1 }, [number, number]>(
    "SELECT 1 AS found FROM deliveries WHERE seq >= ? AND seq < ? AND status = 'pending' LIMIT 1",
  );
  // The last one stays: the numbers of deliveries go on from it, also after a restart.
  const removeEvent = db.prepare<null, [number]>(
    "DELETE FROM events WHERE seq = ? AND seq < (SELECT max(seq) FROM events)",
  );
  const removeBody = db.prepare<null, [number]>("UPDATE events SET body = NULL WHERE seq = ?");
  const expire = db.prepare<null, [number, string, number, number]>(
    `UPDATE deliveries SET status = 'expired', next_attempt_at = NULL, finished_at = ?
     WHERE seq IN (SELECT seq FROM deliveries WHERE application_id = ? AND next_attempt_at IS NOT NULL AND seq < ?
                   LIMIT ?)`,
  );
  const disabled = db.prepare<{ application_id: string }, [number]>(
    "SELECT application_id FROM endpoints WHERE disabled_at < ?",
  );

  let nextDelivery = 0;
  let lastEvent = 0;

  /** The number from which on deliveries are of events published at `time` or later. */
  const numberAt = (time: number) => firstSince.get(time)?.first_delivery ?? Number.MAX_SAFE_INTEGER;

  const pruneDeliveries = (delivered: number, failed: number): boolean => {
    const { last } = slice.get(nextDelivery, Math.max(delivered, failed), stepRows) ?? { last: null };
    if (last === null) return true;
    removeAttempts.run(nextDelivery, last, delivered, failed);
    noteRemoved.run(nextDelivery, last, delivered, failed);
    removeDeliveries.run(nextDelivery, last, delivered, failed);
    nextDelivery = last + 1;
    return false;
  };

  const pruneEvents = (bodiesBefore: number, eventsBefore: number): boolean => {
    let looked = 0;
    for (const row of oldEvents.all(lastEvent, Math.max(bodiesBefore, eventsBefore), stepRows)) {
      const { seq, first_delivery, deliveries, published_at, hasBody } = row;
      const behind = first_delivery + deliveries;
      lastEvent = seq;
      const isOver = published_at < eventsBefore && !hasDeliveries.get(first_delivery, behind);
      const isRemoved = isOver && removeEvent.run(seq).changes > 0;
      if (!isRemoved && hasBody && published_at < bodiesBefore && !hasPending.get(first_delivery, behind)) {
        removeBody.run(seq);
      }
      looked += deliveries + 1;
      if (looked >= stepDeliveries) return false;
    }
    return looked < stepRows;
  };

  const expireDisabled = (now: number): boolean => {
    const before = numberAt(now - keepDisabledMs);
    return disabled
      .all(now - keepDisabledMs)
      .every(({ application_id }) => expire.run(now, application_id, before, stepRows).changes < stepRows);
  };

  const step = ({ deliveredMs, failedMs, bodiesMs }: Retention, now: number): boolean => {
    if (!expireDisabled(now)) return false;
    if (!pruneDeliveries(numberAt(now - deliveredMs), numberAt(now - failedMs))) return false;
    if (!pruneEvents(now - bodiesMs, now - idempotencyMs)) return false;
    [nextDelivery, lastEvent] = [0, 0];
    return true;
  };

  return { prune: (retention, now) => commit(() => step(retention, now)) };
}
