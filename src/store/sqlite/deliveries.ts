import type { Database } from "bun:sqlite";
import type { AttemptResult, DueDelivery } from "../../domain/deliveries.ts";
import type { Store } from "../store.ts";
import type { Commit } from "./commit.ts";

interface DueRow {
  readonly id: string;
  readonly subscription_id: string;
  readonly sequence: number;
  readonly attempts: number;
  readonly expires_at: number | null;
  readonly event_id: string;
  readonly name: string;
  readonly version: number;
  readonly body: string;
  readonly next_attempt_at: number;
}

/**
 * Statements of SQLite itself, because this is the engine's innermost loop. What is claimed is only remembered in
 * memory: one process owns the file, and after a crash exactly what was in flight must be sent again.
 */
export function deliveryStore(db: Database, commit: Commit): Store["deliveries"] {
  const claimed = new Set<string>();
  // A loose index scan: one step per application, however many deliveries are pending.
  const pending = db.prepare<{ application_id: string; due_at: number }, []>(
    `WITH RECURSIVE apps(id) AS (
       SELECT min(application_id) FROM deliveries WHERE next_attempt_at IS NOT NULL
       UNION ALL
       SELECT (SELECT min(application_id) FROM deliveries
               WHERE next_attempt_at IS NOT NULL AND application_id > apps.id)
       FROM apps WHERE apps.id IS NOT NULL
     )
     SELECT id AS application_id,
            (SELECT min(next_attempt_at) FROM deliveries
             WHERE application_id = apps.id AND next_attempt_at IS NOT NULL) AS due_at
     FROM apps WHERE id IS NOT NULL`,
  );
  const due = db.prepare<DueRow, [string]>(
    `SELECT d.id, d.subscription_id, d.sequence, d.attempts, d.expires_at, d.next_attempt_at,
            e.id AS event_id, e.name, e.version, e.body
     FROM deliveries d CROSS JOIN events e ON e.seq = d.event_seq
     WHERE d.application_id = ? AND d.next_attempt_at IS NOT NULL
     ORDER BY d.next_attempt_at, d.event_seq`,
  );
  const settle = db.prepare<null, [string, number, number | null, number | null, string]>(
    `UPDATE deliveries SET status = ?, attempts = ?, next_attempt_at = ?, finished_at = ?
     WHERE id = ? AND next_attempt_at IS NOT NULL`,
  );
  const known = db.prepare<{ attempts: number }, [string]>("SELECT attempts FROM deliveries WHERE id = ?");
  const addAttempt = db.prepare<
    null,
    [string, number, number, string, number | null, number, string | null, string]
  >(
    `INSERT INTO attempts (delivery_id, number, at, outcome, status, duration_ms, error, response)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );

  const record = ({ delivery_id, at, attempt, status, next_attempt_at }: AttemptResult) => {
    const row = known.get(delivery_id);
    if (!row) return;
    const number = row.attempts + (attempt ? 1 : 0);
    if (attempt) {
      const { outcome, duration_ms, error, response } = attempt;
      addAttempt.run(delivery_id, number, attempt.at, outcome, attempt.status, duration_ms, error, response);
    }
    settle.run(status, number, next_attempt_at, next_attempt_at === null ? at : null, delivery_id);
  };

  return {
    pending: async () => pending.all(),
    async claim(applicationId, now, limit) {
      const taken: DueDelivery[] = [];
      let nextDueAt: number | null = null;
      for (const row of due.iterate(applicationId)) {
        if (claimed.has(row.id)) continue;
        if (row.next_attempt_at > now || taken.length >= limit) {
          nextDueAt = row.next_attempt_at;
          break;
        }
        taken.push(dueDelivery(row, applicationId));
      }
      for (const { id } of taken) claimed.add(id);
      return { due: taken, nextDueAt };
    },
    async record(results) {
      await commit(() => results.forEach(record));
      for (const { delivery_id } of results) claimed.delete(delivery_id);
    },
  };
}

function dueDelivery(row: DueRow, application_id: string): DueDelivery {
  const { id, subscription_id, sequence, attempts, expires_at, event_id, name, version, body } = row;
  const event = { id: event_id, name, version, body };
  return { id, application_id, subscription_id, sequence, attempts, expires_at, event };
}
