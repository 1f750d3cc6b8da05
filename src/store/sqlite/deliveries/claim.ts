import type { Database } from "bun:sqlite";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { DueDelivery, SentEvent } from "../../../domain/deliveries.ts";
import type { DeliveryStore } from "../../deliveries.ts";
import type { Commit } from "../database/commit.ts";
import { deliveries, isHandedOut } from "../schema/events.ts";
import { type KeptBody, readableBody } from "./bodies.ts";

interface DueRow extends Omit<DueDelivery, "application_id" | "isSubscribed" | "event"> {
  readonly isSubscribed: 0 | 1;
  readonly next_attempt_at: number;
  readonly event_seq: number;
}

/** The most bytes of bodies kept in memory for further claims. */
const maxSharedBytes = 4 * 1024 * 1024;

/**
 * Claims due deliveries, with raw SQL, because this is the engine's innermost loop. Claims are held only in memory: one
 * process owns the file, and after a crash all deliveries without a recorded result must be sent again.
 */
export function deliveryClaims(
  db: Database,
  orm: BunSQLiteDatabase,
  commit: Commit,
): Pick<DeliveryStore, "releaseAll" | "pending" | "makeFarRetriesDue" | "claim" | "release"> {
  const claimed = new Set<number>();
  // A loose index scan: one step per application, however many deliveries are pending.
  const withApps = `WITH RECURSIVE apps(id) AS (
       SELECT min(application_id) FROM deliveries WHERE next_attempt_at IS NOT NULL
       UNION ALL
       SELECT (SELECT min(application_id) FROM deliveries
               WHERE next_attempt_at IS NOT NULL AND application_id > apps.id)
       FROM apps WHERE apps.id IS NOT NULL
     )`;
  const pending = db.prepare<{ application_id: string; due_at: number }, []>(
    `${withApps}
     SELECT id AS application_id,
            (SELECT min(next_attempt_at) FROM deliveries
             WHERE application_id = apps.id AND next_attempt_at IS NOT NULL) AS due_at
     FROM apps WHERE id IS NOT NULL`,
  );
  const makeFarRetriesDue = db.prepare<null, [number, number]>(
    `${withApps}
     UPDATE deliveries SET next_attempt_at = ?1, resume_at = min(resume_at, ?1)
     WHERE seq IN (SELECT d.seq FROM apps CROSS JOIN deliveries d INDEXED BY deliveries_due
                   ON d.application_id = apps.id AND d.next_attempt_at > ?2)`,
  );
  const columns = `d.seq, d.id, d.subscription_id, d.sequence, d.attempts, d.extra_attempts, d.resume_at,
    d.expires_at, d.next_attempt_at, d.event_seq,
    EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = d.subscription_id) AS isSubscribed`;
  const first = db.prepare<DueRow, [string]>(
    `SELECT ${columns} FROM deliveries d WHERE d.application_id = ? AND d.next_attempt_at = 0 ORDER BY d.seq`,
  );
  const again = db.prepare<DueRow, [string]>(
    `SELECT ${columns} FROM deliveries d WHERE d.application_id = ? AND d.next_attempt_at > 0
     ORDER BY d.next_attempt_at, d.seq`,
  );
  const event = db.prepare<{ id: string; name: string; version: number; body: KeptBody | null }, [number]>(
    "SELECT id, name, version, body FROM events WHERE seq = ?",
  );

  // The deliveries of one event are claimed at about the same time, and share its body.
  const sentEvents = new Map<number, SentEvent>();
  let sentBytes = 0;
  const sentEvent = (seq: number): SentEvent => {
    const known = sentEvents.get(seq);
    if (known) return known;
    const row = event.get(seq);
    if (!row) throw new Error(`event ${seq} of a pending delivery is missing`);
    const sent = { ...row, body: readableBody(row.body) ?? new Uint8Array() };
    sentBytes += sent.body.length;
    if (sentBytes > maxSharedBytes) {
      sentEvents.clear();
      sentBytes = sent.body.length;
    }
    sentEvents.set(seq, sent);
    return sent;
  };

  /** Returns up to `limit` unclaimed rows that are due, and the next unclaimed row after them. */
  const unclaimed = (rows: Iterable<DueRow>, limit: number, dueBy: number) => {
    const taken: DueRow[] = [];
    for (const row of rows) {
      if (claimed.has(row.seq)) continue;
      if (taken.length >= limit || row.next_attempt_at > dueBy) return { taken, next: row };
      taken.push(row);
    }
    return { taken, next: null };
  };

  return {
    releaseAll: () =>
      commit(() => {
        claimed.clear();
        orm.update(deliveries).set({ next_attempt_at: 0 }).where(isHandedOut).run();
      }),
    pending: async () => pending.all(),
    makeFarRetriesDue: (now, latest) => commit(() => void makeFarRetriesDue.run(now, latest)),
    async claim(applicationId, now, limit) {
      // A quarter of each claim is for retries, so that neither a backlog nor a burst of new events starves them.
      const share = Math.ceil(limit / 4);
      const some = unclaimed(again.iterate(applicationId), share, now);
      const firsts = unclaimed(first.iterate(applicationId), limit - some.taken.length, 0);
      const left = limit - firsts.taken.length;
      const retries = some.taken.length < share ? some : unclaimed(again.iterate(applicationId), left, now);
      const due = [...firsts.taken, ...retries.taken].map((row): DueDelivery => {
        const { event_seq, isSubscribed, next_attempt_at, ...about } = row;
        const event = sentEvent(event_seq);
        return { ...about, application_id: applicationId, isSubscribed: isSubscribed === 1, event };
      });
      for (const { seq } of due) claimed.add(seq);
      return { due, hasBacklog: firsts.next !== null, retryAt: retries.next?.next_attempt_at ?? null };
    },
    async release(seqs) {
      for (const seq of seqs) claimed.delete(seq);
    },
  };
}
