import type { DueDelivery, SentEvent } from "../../../domain/deliveries.ts";
import type { DeliveryStore } from "../../deliveries.ts";
import type { Postgres } from "../database/pool.ts";
import type { HandedOut, Look } from "./handed-out.ts";
import type { OwnedShards } from "./owned-shards.ts";

interface Due {
  readonly seq: number;
  readonly next_attempt_at: number;
}

interface DueRow extends Omit<DueDelivery, "application_id" | "event"> {
  readonly event_seq: number;
  readonly event_id: string;
  readonly type: string;
  readonly version: number;
  readonly body: string | null;
}

/** A part of each claim is for retries, so that neither a backlog nor a flood of new events starves them. */
const partForRetries = 1 / 4;

/**
 * Of an application ($1), what is pending and not in memory ($2): so many ($3) first attempts in the order of publishing,
 * and as many retries in the order of their times. Nothing where the shard ($4) is not owned in this epoch ($5).
 */
const pendingOfApplication = `
WITH pending AS NOT MATERIALIZED (
  SELECT seq, next_attempt_at FROM deliveries d
  WHERE application_id = $1 AND status = 'pending'
    AND EXISTS (SELECT FROM endpoint_shards WHERE shard = $4::smallint AND epoch = $5)
    AND NOT EXISTS (SELECT FROM unnest($2::bigint[]) AS here WHERE here = d.seq)
)
(SELECT seq::float8, next_attempt_at::float8 FROM pending WHERE next_attempt_at = 0 ORDER BY pending.seq LIMIT $3)
UNION ALL
(SELECT seq::float8, next_attempt_at::float8 FROM pending WHERE next_attempt_at > 0
 ORDER BY pending.next_attempt_at, pending.seq LIMIT $3)`;

const dueDeliveries = `
SELECT d.seq::float8, d.id, d.subscription_id, d.sequence::float8, d.attempts, d.extra_attempts,
  d.resume_at::float8, d.expires_at::float8, d.event_seq::float8, d.event_id, d.type, d.version::float8, e.body,
  (SELECT count(*) > 0 FROM subscriptions s WHERE s.id = d.subscription_id) AS "isWanted"
FROM deliveries d LEFT JOIN events e ON e.seq = d.event_seq
WHERE d.seq = ANY($1::bigint[]) AND d.status = 'pending'
ORDER BY d.attempts > 0, d.seq`;

/** A loose index scan: one step for each application, however many deliveries are pending. */
const pendingByApplication = `
WITH RECURSIVE apps AS (
  (SELECT application_id, next_attempt_at FROM deliveries WHERE status = 'pending'
   ORDER BY application_id, next_attempt_at LIMIT 1)
  UNION ALL
  SELECT d.* FROM apps CROSS JOIN LATERAL (
    SELECT application_id, next_attempt_at FROM deliveries
    WHERE status = 'pending' AND application_id > apps.application_id
    ORDER BY application_id, next_attempt_at LIMIT 1
  ) AS d
)
SELECT application_id, next_attempt_at::float8 AS due_at FROM apps`;

/** Claims what is due. A claim is held in memory alone, and good as long as this process owns the endpoint. */
export function deliveryClaims(
  pool: Postgres,
  handedOut: HandedOut,
  owned: OwnedShards,
): Pick<DeliveryStore, "releaseAll" | "pending" | "claim" | "release"> {
  const claimDuring = async (look: Look, applicationId: string, now: number, limit: number) => {
    const fence = owned.of(applicationId);
    const { shard, epoch } = fence;
    const here = handedOut.of(applicationId);
    const pending = await pool.run<Due>(pendingOfApplication, [applicationId, here, limit + 1, shard, epoch]);
    const firsts = pending.filter(({ next_attempt_at }) => next_attempt_at === 0);
    const retries = pending.filter(({ next_attempt_at }) => next_attempt_at > 0);
    const due = retries.filter(({ next_attempt_at }) => next_attempt_at <= now);
    const kept = Math.min(due.length, Math.ceil(limit * partForRetries));
    const newOnes = firsts.slice(0, limit - kept);
    const oldOnes = due.slice(0, limit - newOnes.length);
    const chosen = [...newOnes, ...oldOnes].filter(({ seq }) => handedOut.take(look, fence, seq));
    const found = chosen.length === 0 ? [] : await details(applicationId, chosen);
    return {
      due: found,
      hasBacklog: firsts.length > newOnes.length,
      retryAt: retries[oldOnes.length]?.next_attempt_at ?? null,
    };
  };

  /** What was canceled meanwhile is left out. */
  const details = async (applicationId: string, chosen: readonly Due[]): Promise<DueDelivery[]> => {
    const seqs = chosen.map(({ seq }) => seq);
    try {
      const rows = await pool.run<DueRow>(dueDeliveries, [seqs]);
      const found = new Set(rows.map(({ seq }) => seq));
      handedOut.end(seqs.filter((seq) => !found.has(seq)));
      return withEvents(applicationId, rows);
    } catch (error) {
      handedOut.end(seqs);
      throw error;
    }
  };

  return {
    async releaseAll() {
      handedOut.clear();
      await owned.takeAll(pool);
    },
    pending: () => pool.run(pendingByApplication),
    async claim(applicationId, now, limit) {
      const look = handedOut.look();
      try {
        return await claimDuring(look, applicationId, now, limit);
      } finally {
        look.end();
      }
    },
    release: async (seqs) => handedOut.end(seqs),
  };
}

/** Deliveries of one event share its body. */
function withEvents(application_id: string, rows: readonly DueRow[]): DueDelivery[] {
  const events = new Map<number, SentEvent>();
  return rows.map(({ event_seq, event_id, type, version, body, ...about }) => {
    const known = events.get(event_seq);
    const event = known ?? { id: event_id, name: type, version, body: Buffer.from(body ?? "") };
    events.set(event_seq, event);
    return { ...about, application_id, event };
  });
}
