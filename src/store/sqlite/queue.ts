import type { Database } from "bun:sqlite";
import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type {
  Attempt,
  AttemptResult,
  DeliveryStore,
  DueDelivery,
  SentEvent,
} from "../../domain/deliveries.ts";
import type { Endpoint } from "../../domain/endpoints.ts";
import { excluded } from "../drizzle/dialect.ts";
import type { Commit } from "./commit.ts";
import { type KeptBody, readableBody, rowInserter } from "./delivery-rows.ts";
import { applications, deliveries, endpoints, isHandedOut, placeholders } from "./schema.ts";

interface DueRow extends Omit<DueDelivery, "application_id" | "isSubscribed" | "event"> {
  readonly isSubscribed: 0 | 1;
  readonly next_attempt_at: number;
  readonly event_seq: number;
}

/** The most retries that one transaction makes due. */
const farAtOnce = 10_000;

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
                   ON d.application_id = apps.id AND d.next_attempt_at > ?2
                   LIMIT ${farAtOnce})`,
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
    makeFarRetriesDue: (now, latest) => commit(() => makeFarRetriesDue.run(now, latest).changes === 0),
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
  const addAttempts = attemptInserter(db);

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
 * delivery_seq, number, at, outcome, status, duration_ms, dns_ms, connect_ms, tls_ms, first_byte_ms, error, response,
 * generation, exchange as JSON
 */
type AttemptRow = readonly (string | number | null)[];

/** Makes a function that stores the rows of `attemptRow`. */
export const attemptInserter = (db: Database) =>
  rowInserter<AttemptRow>(
    db,
    `INSERT OR REPLACE INTO attempts (delivery_seq, number, at, outcome, status, duration_ms,
       dns_ms, connect_ms, tls_ms, first_byte_ms, error, response, generation, exchange)`,
    "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );

/** Returns the row of the attempt with this number, from 1, of the delivery with the number `seq`. */
export function attemptRow(seq: number, number: number, attempt: Attempt): AttemptRow {
  const { at, outcome, status, duration_ms, error, response, generation, exchange } = attempt;
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
    generation,
    exchange && JSON.stringify(exchange),
  ];
}

/**
 * Makes a function that stores the state of an endpoint, inside a transaction, and returns whether it was stored. State
 * of an earlier generation is ignored, and so is that of a removed application, and a state that is not newer than the
 * stored one.
 */
export function endpointKeeper(orm: BunSQLiteDatabase): (endpoint: Endpoint) => boolean {
  const generationOf = orm
    .select({ generation: applications.endpoint_generation })
    .from(applications)
    .where(eq(applications.id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const isNewer = sql`excluded.revision > ${endpoints.revision}`;
  const put = orm
    .insert(endpoints)
    .values(placeholders(endpoints))
    .onConflictDoUpdate({ target: endpoints.application_id, set: excluded(endpoints), setWhere: isNewer })
    .returning({ revision: endpoints.revision })
    .prepare();
  return (endpoint) => {
    const current = generationOf.get({ id: endpoint.application_id })?.generation;
    return endpoint.generation === current && put.all({ ...endpoint }).length > 0;
  };
}
