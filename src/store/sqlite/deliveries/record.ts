import type { Database } from "bun:sqlite";
import type { Attempt, AttemptResult } from "../../../domain/deliveries.ts";
import { rowInserter } from "./rows.ts";

/**
 * Makes a function that records results inside a transaction. Raw SQL, because this is in the engine's innermost loop.
 */
export function attemptRecorder(db: Database): (results: readonly AttemptResult[]) => void {
  const settle = db.prepare<
    null,
    [string, number, number, number | null, number | null, number | null, number]
  >(
    `UPDATE deliveries SET status = ?, attempts = ?, extra_attempts = ?, next_attempt_at = ?, resume_at = ?,
       finished_at = ?
     WHERE seq = ? AND status = 'pending'`,
  );
  /**
   * Parameters: attempts, extra attempts among them, time, number of the delivery, whether the receiver accepted it.
   */
  const settleEnded = db.prepare<null, [number, number, number, number, boolean]>(
    `UPDATE deliveries SET attempts = ?1, extra_attempts = ?2,
       status = iif(status = 'canceled' AND ?5, 'delivered', status),
       finished_at = iif(status = 'canceled' AND ?5, ?3, finished_at)
     WHERE seq = ?4 AND attempts < ?1`,
  );
  const current = db.prepare<{ isSubscribed: 0 | 1; generation: number | null }, [number]>(
    `SELECT EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = d.subscription_id) AS isSubscribed,
            (SELECT endpoint_generation FROM applications a WHERE a.id = d.application_id) AS generation
     FROM deliveries d WHERE d.seq = ?`,
  );
  const addAttempts = rowInserter<AttemptRow>(
    db,
    `INSERT OR REPLACE INTO attempts (delivery_seq, number, at, outcome, status, duration_ms,
       dns_ms, connect_ms, tls_ms, first_byte_ms, error, response)`,
    "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );

  /**
   * Returns the new state of a delivery that is to be retried. It may have changed while the attempt was in progress.
   */
  const pendingAs = (
    result: AttemptResult,
  ): Pick<AttemptResult, "status" | "next_attempt_at" | "resume_at"> => {
    const { seq, at, generation, next_attempt_at, resume_at } = result;
    const now = current.get(seq);
    if (!now?.isSubscribed) return { status: "canceled", next_attempt_at: null, resume_at: null };
    // The endpoint was enabled meanwhile, or has another URL. Like all its waiting retries, this one is due now.
    const isDueNow = now.generation !== generation && next_attempt_at !== null && next_attempt_at > 0;
    if (!isDueNow) return result;
    const resumeAt = resume_at ?? next_attempt_at;
    return { status: "pending", next_attempt_at: Math.min(next_attempt_at, at), resume_at: resumeAt };
  };

  return (results) => {
    const made: AttemptRow[] = [];
    for (const result of results) {
      const { seq, at, attempt, attempts, extra_attempts } = result;
      const { status, next_attempt_at, resume_at } = result.status === "pending" ? pendingAs(result) : result;
      const finishedAt = status === "pending" ? null : at;
      const { changes } = settle.run(
        status,
        attempts,
        extra_attempts,
        next_attempt_at,
        resume_at,
        finishedAt,
        seq,
      );
      if (!attempt) continue;
      made.push(attemptRow(seq, attempts, attempt));
      // The delivery was ended during the attempt, which may have succeeded.
      if (changes === 0) settleEnded.run(attempts, extra_attempts, at, seq, status === "delivered");
    }
    addAttempts(made);
  };
}

/**
 * delivery_seq, number, at, outcome, status, duration_ms, dns_ms, connect_ms, tls_ms, first_byte_ms, error, response
 */
type AttemptRow = readonly (string | number | null)[];

function attemptRow(seq: number, number: number, attempt: Attempt): AttemptRow {
  const { at, outcome, status, duration_ms, error, response } = attempt;
  const { dnsMs, connectMs, tlsMs, firstByteMs } = attempt.timings;
  return [
    seq,
    number,
    at,
    outcome,
    status,
    duration_ms,
    dnsMs,
    connectMs,
    tlsMs,
    firstByteMs,
    error,
    response,
  ];
}
