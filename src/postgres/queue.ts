import { eq } from "drizzle-orm";
import type {
  AttemptResult,
  Claimed,
  DeliveryStore,
  DueDelivery,
  LockedRecords,
  SentEvent,
} from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import { batchedPerTick } from "../runtime/event-loop.ts";
import { columnsOf } from "../store/drizzle/dialect.ts";
import type { Postgres, Queries } from "./pool.ts";
import { endpoints } from "./schema.ts";
import type { Fence, OwnedShards } from "./shards.ts";

/**
 * The deliveries that this process has claimed: those in its memory. The database has them only as pending. When the
 * process dies, the next owner of the endpoint sends all of them again whose results were not recorded.
 */
export class ClaimedDeliveries {
  readonly #byApplication = new Map<string, Set<number>>();
  readonly #claimOf = new Map<number, DeliveryClaim>();
  readonly #claimOfResult = new WeakMap<AttemptResult, DeliveryClaim>();
  /** When deliveries were recorded or released during a read of the store, which may still show them as pending. */
  readonly #released = new Map<number, number>();
  readonly #reads = new Set<StoreRead>();
  #time = 0;

  /** Call this before reading deliveries to claim, and `end` the result in any case. */
  beginRead(): StoreRead {
    const read: StoreRead = {
      startedAt: this.#time,
      end: () => {
        this.#reads.delete(read);
        if (this.#reads.size === 0) this.#released.clear();
      },
    };
    this.#reads.add(read);
    return read;
  }

  /**
   * Claims a delivery that was read. Returns false when its number is claimed already, or was recorded or released
   * since the read began. Its result can be recorded only while the epoch of its fence lasts.
   */
  claim(read: StoreRead, fence: Fence, { seq, id }: Pick<DueDelivery, "seq" | "id">): boolean {
    if (this.#claimOf.has(seq) || (this.#released.get(seq) ?? -1) > read.startedAt) return false;
    this.#claimOf.set(seq, { ...fence, id });
    const its = this.#byApplication.get(fence.application);
    if (its) its.add(seq);
    else this.#byApplication.set(fence.application, new Set([seq]));
    return true;
  }

  of(applicationId: string): number[] {
    return [...(this.#byApplication.get(applicationId) ?? [])];
  }

  /**
   * The claims of results, as they were when each was first asked for. Pass them to `releaseClaims`. A late answer of a
   * first try to record releases the deliveries, and they may be claimed again before the next try, which must not end
   * the new claims.
   */
  claimsOf(results: readonly AttemptResult[]): Claims {
    const claims = new Map<number, DeliveryClaim>();
    for (const result of results) {
      const claim = this.#claimOfResult.get(result) ?? this.#claimOf.get(result.seq);
      if (claim === undefined) continue;
      this.#claimOfResult.set(result, claim);
      claims.set(result.seq, claim);
    }
    return claims;
  }

  /** Releases deliveries that have not been released, and claimed again, since these claims were read. */
  releaseClaims(claims: Claims): void {
    this.release([...claims].flatMap(([seq, claim]) => (this.#claimOf.get(seq) === claim ? seq : [])));
  }

  release(seqs: Iterable<number>): void {
    this.#time++;
    for (const seq of seqs) {
      const application = this.#claimOf.get(seq)?.application;
      if (application === undefined) continue;
      this.#claimOf.delete(seq);
      const its = this.#byApplication.get(application);
      its?.delete(seq);
      if (its?.size === 0) this.#byApplication.delete(application);
      if (this.#reads.size > 0) this.#released.set(seq, this.#time);
    }
    this.#forget();
  }

  clear(): void {
    this.release([...this.#claimOf.keys()]);
  }

  /** Removes entries older than all reads. In a busy process some read is always in progress. */
  #forget(): void {
    if (this.#released.size < 10_000) return;
    const oldest = Math.min(...[...this.#reads].map(({ startedAt }) => startedAt));
    for (const [seq, at] of this.#released) if (at <= oldest) this.#released.delete(seq);
  }
}

/**
 * A claim of a delivery. The id tells the delivery from a later one with its number: after a standby that lags is
 * promoted, numbers are assigned again.
 */
interface DeliveryClaim extends Fence {
  readonly id: string;
}

/** Claims by the numbers of their deliveries. Each claim is an object of its own. */
type Claims = ReadonlyMap<number, DeliveryClaim>;

/** A read of the store for deliveries to claim. */
export interface StoreRead {
  readonly startedAt: number;
  end(): void;
}

interface Due {
  /** Index of the claim, from 0. */
  readonly claim: number;
  readonly seq: number;
  readonly id: string;
  readonly next_attempt_at: number;
}

interface DueRow extends Omit<DueDelivery, "event"> {
  readonly event_seq: number;
  readonly event_id: string;
  readonly type: string;
  readonly version: number;
  readonly body: string | null;
}

/** A call of `claim`. */
interface Claim {
  readonly applicationId: string;
  readonly now: number;
  readonly limit: number;
  resolve(claimed: Claimed): void;
  reject(error: unknown): void;
}

/** The most claims of one statement. */
const mostClaims = 64;

/** The part of each claim that is for retries, so that neither a backlog nor a burst of new events starves them. */
const partForRetries = 1 / 4;

/**
 * The pending deliveries of applications ($1) that are not in memory ($2): up to $3 first attempts in the order of
 * publishing, and up to $3 retries in the order of their times. None if the shard ($4) is not owned in the epoch ($5).
 */
const pendingOfApplications = `
SELECT asked.n::float8 - 1 AS claim, pending.seq::float8, pending.id, pending.next_attempt_at::float8
FROM unnest($1::text[], $3::int[], $4::smallint[], $5::bigint[]) WITH ORDINALITY AS asked (application, most, shard, epoch, n)
CROSS JOIN LATERAL (
  (SELECT seq, id, next_attempt_at FROM deliveries d
   WHERE application_id = application AND status = 'pending' AND next_attempt_at = 0
     AND NOT EXISTS (SELECT FROM unnest($2::bigint[]) AS here WHERE here = d.seq)
   ORDER BY seq LIMIT most)
  UNION ALL
  (SELECT seq, id, next_attempt_at FROM deliveries d
   WHERE application_id = application AND status = 'pending' AND next_attempt_at > 0
     AND NOT EXISTS (SELECT FROM unnest($2::bigint[]) AS here WHERE here = d.seq)
   ORDER BY next_attempt_at, seq LIMIT most)
) AS pending
WHERE EXISTS (SELECT FROM endpoint_shards s WHERE s.shard = asked.shard AND s.epoch = asked.epoch)`;

const dueDeliveries = `
SELECT d.seq::float8, d.id, d.application_id, d.subscription_id, d.sequence::float8, d.attempts, d.extra_attempts,
  d.resume_at::float8, d.expires_at::float8, d.event_seq::float8, d.event_id, d.type, d.version::float8, e.body,
  (SELECT count(*) > 0 FROM subscriptions s WHERE s.id = d.subscription_id) AS "isSubscribed"
FROM deliveries d LEFT JOIN events e ON e.seq = d.event_seq
WHERE d.seq = ANY($1::bigint[]) AND d.status = 'pending'`;

/** The earliest or latest pending delivery of each application. A loose index scan: one step per application. */
const ofApplications = (order: "ASC" | "DESC") => `
WITH RECURSIVE apps AS (
  (SELECT application_id, next_attempt_at FROM deliveries WHERE status = 'pending'
   ORDER BY application_id ${order}, next_attempt_at ${order} LIMIT 1)
  UNION ALL
  SELECT d.* FROM apps CROSS JOIN LATERAL (
    SELECT application_id, next_attempt_at FROM deliveries
    WHERE status = 'pending' AND application_id ${order === "ASC" ? ">" : "<"} apps.application_id
    ORDER BY application_id ${order}, next_attempt_at ${order} LIMIT 1
  ) AS d
)`;

const pendingByApplication = `${ofApplications("ASC")}
SELECT application_id, next_attempt_at::float8 AS due_at FROM apps`;

/** The most retries that one statement makes due. */
const farAtOnce = 10_000;

/**
 * Condition: due after a time ($2), now being $1. The database's clock is applied as well, so that a replica whose own
 * clock is slow changes nothing.
 */
const isFar = `next_attempt_at >
  greatest($2::bigint, (extract(epoch FROM statement_timestamp()) * 1000)::bigint + $2::bigint - $1::bigint)`;

const haveFarRetries = `${ofApplications("DESC")}
SELECT application_id FROM apps WHERE ${isFar}`;

/** Makes far retries of some applications ($3) due now ($1), and waits for no lock. */
const makeFarRetriesDue = `
UPDATE deliveries SET next_attempt_at = $1, resume_at = CASE WHEN resume_at > $1 THEN $1 ELSE resume_at END
WHERE seq = ANY(ARRAY(
  SELECT seq FROM deliveries WHERE application_id = ANY($3::text[]) AND status = 'pending' AND ${isFar}
  LIMIT ${farAtOnce} FOR NO KEY UPDATE SKIP LOCKED))`;

/**
 * Claims due deliveries. A claim is held only in memory, and is valid while this process owns the endpoint. Claims of
 * one turn of the event loop share a statement, because events that one replica publishes concern many endpoints of
 * another. If it fails, each claim is made alone, so that an application with unreadable deliveries does not affect the
 * others.
 */
export function deliveryClaims(
  pool: Postgres,
  claimed: ClaimedDeliveries,
  owned: OwnedShards,
): Pick<DeliveryStore, "releaseAll" | "pending" | "makeFarRetriesDue" | "claim" | "release"> {
  const claimAll = async (read: StoreRead, claims: readonly Claim[]) => {
    const fences = claims.map(({ applicationId }) => owned.of(applicationId));
    const pending = await pool.run<Due>(pendingOfApplications, [
      claims.map(({ applicationId }) => applicationId),
      claims.flatMap(({ applicationId }) => claimed.of(applicationId)),
      claims.map(({ limit }) => limit + 1),
      fences.map(({ shard }) => shard),
      fences.map(({ epoch }) => epoch),
    ]);
    const byClaim = Map.groupBy(pending, ({ claim }) => claim);
    const choices = claims.map((claim, n) => choose(byClaim.get(n) ?? [], claim));
    const taken = choices.map(({ chosen }, n) =>
      chosen.filter((one) => claimed.claim(read, fences[n] as Fence, one)),
    );
    const details = await detailsOf(taken.flat().map(({ seq }) => seq));
    const bySeq = new Map(details.map((one) => [one.seq, one]));
    claims.forEach(({ resolve }, n) => {
      const { hasBacklog = false, retryAt = null } = choices[n] ?? {};
      const due = (taken[n] ?? []).flatMap(({ seq }) => bySeq.get(seq) ?? []);
      resolve({ due, hasBacklog, retryAt });
    });
  };

  /** Reads the details of deliveries, without those that were canceled meanwhile. */
  const detailsOf = async (seqs: readonly number[]): Promise<DueDelivery[]> => {
    if (seqs.length === 0) return [];
    try {
      const rows = await pool.run<DueRow>(dueDeliveries, [seqs]);
      const found = new Set(rows.map(({ seq }) => seq));
      claimed.release(seqs.filter((seq) => !found.has(seq)));
      return withEvents(rows);
    } catch (error) {
      claimed.release(seqs);
      throw error;
    }
  };

  const claimSoon = batchedPerTick<Claim>((claims) => {
    while (claims.length > 0) void claimTogether(claims.splice(0, mostClaims));
  });

  const claimTogether = async (claims: readonly Claim[]): Promise<void> => {
    const read = claimed.beginRead();
    try {
      await claimAll(read, claims);
    } catch (error) {
      if (claims.length === 1) claims[0]?.reject(error);
      else for (const claim of claims) void claimTogether([claim]);
    } finally {
      read.end();
    }
  };

  return {
    async releaseAll() {
      claimed.clear();
      await owned.takeAll(pool);
    },
    pending: () => pool.run(pendingByApplication),
    async makeFarRetriesDue(now, latest) {
      const found = await pool.run<{ application_id: string }>(haveFarRetries, [now, latest]);
      const ids = found.map(({ application_id }) => application_id);
      if (ids.length > 0) await pool.run(makeFarRetriesDue, [now, latest, ids]);
      return ids.length === 0;
    },
    claim: (applicationId, now, limit) =>
      new Promise((resolve, reject) => claimSoon({ applicationId, now, limit, resolve, reject })),
    release: async (seqs) => claimed.release(seqs),
  };
}

/** Chooses the deliveries of a claim among the pending ones. */
function choose(pending: readonly Due[], { now, limit }: Claim) {
  const firsts = pending.filter(({ next_attempt_at }) => next_attempt_at === 0);
  const retries = pending.filter(({ next_attempt_at }) => next_attempt_at > 0);
  const due = retries.filter(({ next_attempt_at }) => next_attempt_at <= now);
  const kept = Math.min(due.length, Math.ceil(limit * partForRetries));
  const newOnes = firsts.slice(0, limit - kept);
  const oldOnes = due.slice(0, limit - newOnes.length);
  return {
    chosen: [...newOnes, ...oldOnes],
    hasBacklog: firsts.length > newOnes.length,
    retryAt: retries[oldOnes.length]?.next_attempt_at ?? null,
  };
}

/** Deliveries of one event share its body. */
function withEvents(rows: readonly DueRow[]): DueDelivery[] {
  const events = new Map<number, SentEvent>();
  return rows.map(({ event_seq, event_id, type, version, body, ...about }) => {
    const known = events.get(event_seq);
    const event = known ?? { id: event_id, name: type, version, body: Buffer.from(body ?? "") };
    events.set(event_seq, event);
    return { ...about, event };
  });
}

/** Whether this state of an endpoint is the stored one. State of an earlier generation was not stored. */
export async function isKeptState({ orm }: Queries, endpoint: Endpoint | undefined): Promise<boolean> {
  if (!endpoint) return false;
  const isIt = eq(endpoints.application_id, endpoint.application_id);
  const [kept] = await orm.select().from(endpoints).where(isIt);
  const { generation: _, ...state } = endpoint;
  return kept !== undefined && Bun.deepEquals(kept, state);
}

/** The columns of an endpoint's state, alone and with their types. */
const stateNames = columnsOf(endpoints).map(([name]) => name);
const stateTypes = columnsOf(endpoints).map(([name, column]) => `${name} ${column.getSQLType()}`);

/** The first key of the advisory locks of endpoints' states. */
const stateLock = 1_701_737_316;

/**
 * Records results of attempts and states of endpoints in one statement. Results for a shard that this process has lost
 * are ignored: its next owner sends these deliveries again. The shards are locked against the next owner, so that no
 * result of an earlier epoch is committed after its first claim.
 *
 * A result whose delivery is gone changes nothing, also where a later delivery has its number. A result that is already
 * recorded changes nothing; its response may have been lost. A delivery may have changed
 * during its attempt. If its subscription is gone, it is canceled instead of retried. If its endpoint was enabled or
 * has another URL, its retry is due now, as all waiting ones. If it was canceled and the receiver accepted it, it
 * becomes `delivered`. The generation is read with a lock, so that no change of the URL is committed meanwhile.
 *
 * A statement that was given up may arrive after later ones. A state replaces only one of a lower revision. Its epoch
 * is still the current one, so that both states have been counted by this process.
 *
 * It waits for no lock of a row, because the transaction that holds it may not end for a long time. It returns what it
 * did not record for that reason. The first state of an endpoint has no row yet, so that states have advisory locks.
 */
const statement = `
WITH owned AS (
  SELECT s.shard, s.epoch FROM endpoint_shards s
  JOIN unnest($1::smallint[], $2::bigint[]) AS own(shard, epoch) ON own.shard = s.shard AND own.epoch = s.epoch
),
held AS MATERIALIZED (
  SELECT s.shard, s.epoch FROM endpoint_shards s
  JOIN unnest($1::smallint[], $2::bigint[]) AS own(shard, epoch) ON own.shard = s.shard AND own.epoch = s.epoch
  ORDER BY s.shard FOR SHARE OF s SKIP LOCKED
),
called AS MATERIALIZED (
  SELECT id, endpoint_generation FROM applications WHERE id = ANY($16::text[]) ORDER BY id FOR SHARE SKIP LOCKED
),
free AS MATERIALIZED (
  SELECT d.seq, d.id FROM deliveries d WHERE d.seq = ANY($3::bigint[]) ORDER BY d.seq FOR NO KEY UPDATE SKIP LOCKED
),
asked AS MATERIALIZED (
  SELECT g.* FROM unnest($3::bigint[], $4::text[], $5::smallint[], $6::smallint[], $7::smallint[], $8::bigint[], $9::text[],
    $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $15::bigint[], $17::text[])
    AS g(seq, application_id, shard, attempts, extra_attempts, at, status, next_attempt_at, resume_at, attempt, generation,
      epoch, id)
  JOIN owned USING (shard, epoch)
),
given AS MATERIALIZED (
  SELECT g.*, g.status = 'delivered' AND g.attempt IS NOT NULL AS is_accepted,
    a.endpoint_generation <> g.generation AND g.next_attempt_at > 0 AS is_due_now,
    CASE WHEN g.status = 'pending' THEN (
      SELECT count(*) = 0 FROM deliveries o JOIN subscriptions s ON s.id = o.subscription_id WHERE o.seq = g.seq
    ) ELSE false END AS is_canceled
  FROM asked g
  JOIN held USING (shard, epoch)
  JOIN free USING (seq, id)
  LEFT JOIN called a ON a.id = g.application_id
  WHERE a.id IS NOT NULL OR g.next_attempt_at IS NULL
    OR NOT EXISTS (SELECT FROM applications x WHERE x.id = g.application_id)
  ORDER BY g.seq
),
states AS MATERIALIZED (
  SELECT e.*, pg_try_advisory_xact_lock(${stateLock}, hashtext(e.application_id)) AS is_free
  FROM json_to_recordset($14) AS e(shard smallint, epoch bigint, generation bigint, ${stateTypes.join()})
),
kept AS (
  INSERT INTO endpoints (${stateNames.join()})
  SELECT ${stateNames.map((name) => `e.${name}`).join()}
  FROM states e
  JOIN held USING (shard, epoch)
  JOIN called a ON a.id = e.application_id AND a.endpoint_generation = e.generation
  WHERE e.is_free
  ORDER BY e.application_id
  ON CONFLICT (application_id) DO UPDATE SET ${stateNames.map((name) => `${name} = excluded.${name}`).join()}
  WHERE endpoints.revision < excluded.revision
),
recorded AS (
UPDATE deliveries d SET
  attempts = g.attempts,
  extra_attempts = g.extra_attempts,
  attempt_log = CASE WHEN g.attempt IS NULL THEN d.attempt_log ELSE d.attempt_log || g.attempt::json END,
  status = CASE WHEN g.is_accepted AND d.status = 'canceled' THEN 'delivered' WHEN d.status <> 'pending' THEN d.status
    WHEN g.is_canceled THEN 'canceled' ELSE g.status END,
  next_attempt_at = CASE WHEN d.status <> 'pending' OR g.is_canceled THEN NULL
    WHEN g.is_due_now THEN least(g.next_attempt_at, g.at) ELSE g.next_attempt_at END,
  resume_at = CASE WHEN d.status <> 'pending' OR g.is_canceled THEN NULL
    WHEN g.is_due_now THEN coalesce(g.resume_at, g.next_attempt_at) ELSE g.resume_at END,
  finished_at = CASE WHEN g.is_accepted AND d.status = 'canceled' THEN g.at WHEN d.status <> 'pending' THEN d.finished_at WHEN g.is_canceled OR g.status <> 'pending' THEN g.at END
FROM given g
WHERE d.seq = g.seq
  AND (d.attempts < g.attempts OR g.attempt IS NULL AND d.attempts = g.attempts AND d.status = 'pending')
)
SELECT g.seq::float8, NULL AS application_id FROM asked g
WHERE NOT EXISTS (SELECT FROM given WHERE given.seq = g.seq)
  AND EXISTS (SELECT FROM deliveries d WHERE d.seq = g.seq AND d.id = g.id)
UNION ALL
SELECT NULL, e.application_id FROM states e
JOIN owned USING (shard, epoch)
JOIN applications x ON x.id = e.application_id AND x.endpoint_generation = e.generation
WHERE NOT e.is_free OR NOT EXISTS (SELECT FROM held h WHERE h.shard = e.shard)
  OR NOT EXISTS (SELECT FROM called c WHERE c.id = e.application_id)`;

/**
 * Records a batch of results and the states of endpoints. Ignores deliveries that were claimed in an earlier epoch.
 *
 * Returns what was not recorded, because other transactions hold the rows.
 *
 * @param claims the shards and epochs in which the deliveries were claimed
 * @param endpoints the states of endpoints, each with the shard and epoch in which it was learned
 */
export async function recordAttempts(
  connection: Queries,
  claims: Claims,
  results: readonly AttemptResult[],
  endpoints: readonly (Endpoint & Fence)[],
): Promise<LockedRecords> {
  // Deliveries that are no longer in memory were released before.
  const fenced = results.flatMap((result) => {
    const claim = claims.get(result.seq);
    return claim === undefined ? [] : { ...result, ...claim };
  });
  // Only retries depend on the generation of their endpoint.
  const retries = fenced.filter(({ next_attempt_at }) => next_attempt_at !== null);
  const called = [
    ...retries.map(({ application }) => application),
    ...endpoints.map((one) => one.application_id),
  ];
  const fences = new Map([...fenced, ...endpoints].map((one) => [`${one.shard} ${one.epoch}`, one]));
  const locked = await connection.run<{ seq: number | null; application_id: string | null }>(statement, [
    [...fences.values()].map(({ shard }) => shard),
    [...fences.values()].map(({ epoch }) => epoch),
    fenced.map(({ seq }) => seq),
    fenced.map(({ application }) => application),
    fenced.map(({ shard }) => shard),
    fenced.map(({ attempts }) => attempts),
    fenced.map(({ extra_attempts }) => extra_attempts),
    fenced.map(({ at }) => at),
    fenced.map(({ status }) => status),
    fenced.map(({ next_attempt_at }) => next_attempt_at),
    fenced.map(({ resume_at }) => resume_at),
    fenced.map(({ attempt }) => attempt && JSON.stringify(attempt)),
    fenced.map(({ generation }) => generation),
    endpoints,
    fenced.map(({ epoch }) => epoch),
    [...new Set(called)],
    fenced.map(({ id }) => id),
  ]);
  return {
    seqs: new Set(locked.flatMap(({ seq }) => seq ?? [])),
    applicationIds: new Set(locked.flatMap(({ application_id }) => application_id ?? [])),
  };
}
