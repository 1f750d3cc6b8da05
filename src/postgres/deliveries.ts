import { eq } from "drizzle-orm";
import {
  type Backlog,
  type DeliveryFilter,
  type DeliveryPage,
  type DeliveryRecord,
  type DeliveryStore,
  type LockedRecords,
  mostPendingCounted,
  mostPendingOfApplication,
  mostPendingOfSubscription,
  type SentDelivery,
  statusesIn,
} from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { NewNotice } from "../domain/notices.ts";
import {
  isUndelivered,
  mostStreamed,
  retryDelivery,
  type StreamedRow,
  streamedDelivery,
} from "../store/drizzle/deliveries.ts";
import { noticeAdder } from "../store/drizzle/notices.ts";
import { finished, postgresDialect } from "./dialect.ts";
import type { Postgres, Queries } from "./pool.ts";
import { deliveryPositions } from "./positions.ts";
import { type ClaimedDeliveries, deliveryClaims, isKeptState, recordAttempts } from "./queue.ts";
import { deliveries } from "./schema.ts";
import type { Fence, OwnedShards } from "./shards.ts";

/** The most rows of the log that one page reads. */
const maxRows = 2_000;

const isSubscribed = "(SELECT count(*) > 0 FROM subscriptions s WHERE s.id = d.subscription_id)";

/** Column: the status of a delivery `d`. A pending delivery of a deleted subscription is shown as canceled. */
const shownStatus = `CASE WHEN d.status = 'pending' AND NOT ${isSubscribed}
  THEN 'canceled' ELSE d.status END`;

const logColumns = `d.seq::float8, d.id, d.application_id, d.subscription_id, d.event_id, d.type, d.version::float8,
  d.broadcaster_user_id::float8,
  (SELECT u.username FROM users u WHERE u.id = d.broadcaster_user_id) AS broadcaster_username, d.sequence::float8, d.next_attempt_at::float8, d.expires_at::float8,
  d.finished_at::float8, d.published_at::float8, ${shownStatus} AS status, d.attempt_log AS attempts`;

interface Looked {
  readonly looked: number;
  readonly lowest: number | null;
}

type LoggedRow = DeliveryRecord & Looked;

/** Reads of the log of deliveries. */
function deliveryLog(queries: Queries): Pick<
  DeliveryStore,
  "page" | "find" | "backlog" | "pendingOf" | "backlogOfAll"
> & {
  one(seq: number): Promise<DeliveryRecord | null>;
} {
  const positions = deliveryPositions(queries);

  const page = async (filter: DeliveryFilter, below: number | null, limit: number): Promise<DeliveryPage> => {
    const { application_id, broadcaster_user_id, subscription_id, event_id, status, type, after, before } =
      filter;
    const { from, to } = await positions.between(after, before);
    const top = to === null ? below : Math.min(to, below ?? to);
    // `looked` has the conditions that use an index, and a limit. `found` applies the other conditions to its rows.
    const rows = await queries.run<LoggedRow>(
      `WITH looked AS MATERIALIZED (
         SELECT * FROM deliveries d
         WHERE seq >= $1 AND ($2::bigint IS NULL OR seq < $2)
           ${application_id === null ? "AND $3::text IS NULL" : "AND application_id = $3::text"}
           ${event_id === null ? "AND $11::text IS NULL" : "AND event_id = $11::text"}
           ${isUndelivered(status) && application_id !== null ? "AND status IN ('failed', 'expired', 'canceled')" : ""}
         ORDER BY d.seq DESC LIMIT ${maxRows}
       ),
       found AS (
         SELECT * FROM looked d
         WHERE ($4::text IS NULL OR subscription_id = $4) AND ($5::text IS NULL OR type = $5)
           AND ($6::bigint IS NULL OR broadcaster_user_id = $6)
           AND ($7::bigint IS NULL OR published_at >= $7) AND ($8::bigint IS NULL OR published_at < $8)
           AND ($9::text IS NULL OR ${shownStatus} IN (SELECT json_array_elements_text($9::json)))
           ${status === "missed" ? `AND ${isSubscribed}` : ""} ${status === "failing" ? "AND d.attempts > 0" : ""}
         ORDER BY d.seq DESC LIMIT $10
       )
       SELECT ${logColumns}, l.looked::float8, l.lowest::float8
       FROM (SELECT count(*) AS looked, min(seq) AS lowest FROM looked) AS l LEFT JOIN found d ON true
       ORDER BY d.seq DESC`,
      [
        from,
        top,
        application_id,
        subscription_id,
        type,
        broadcaster_user_id,
        after,
        before,
        status && JSON.stringify(statusesIn(status)),
        limit + 1,
        event_id,
      ],
    );
    const found = rows.flatMap(({ looked, lowest, ...row }) => (row.seq === null ? [] : row));
    const deliveries = found.slice(0, limit);
    if (found.length > limit) return { deliveries, next: deliveries.at(-1)?.seq ?? null };
    return { deliveries, next: rows[0]?.looked === maxRows ? rows[0].lowest : null };
  };

  const one = async (seq: number): Promise<DeliveryRecord | null> => {
    const rows = await queries.run<DeliveryRecord>(
      `SELECT ${logColumns} FROM deliveries d WHERE d.seq = $1`,
      [seq],
    );
    return rows[0] ?? null;
  };

  return {
    page,
    one,
    async find({ application_id, broadcaster_user_id }, id) {
      const [found] = await queries.run<SentDelivery>(
        `SELECT ${logColumns}, e.body FROM deliveries d LEFT JOIN events e ON e.seq = d.event_seq
         WHERE d.id = $1 AND ($2::text IS NULL OR d.application_id = $2)
           AND ($3::bigint IS NULL OR d.broadcaster_user_id = $3)`,
        [id, application_id, broadcaster_user_id],
      );
      return found ?? null;
    },
    async backlog(applicationId, subscriptionId) {
      const [counted] = await queries.run<{ pending: number; oldest_pending_at: number | null }>(
        `SELECT count(*)::float8 AS pending, min(published_at)::float8 AS oldest_pending_at
         FROM (SELECT published_at FROM deliveries WHERE subscription_id = $1 AND status = 'pending'
                 AND application_id = $2 ORDER BY seq LIMIT ${mostPendingOfSubscription}) AS oldest`,
        [subscriptionId, applicationId],
      );
      return counted ?? { pending: 0, oldest_pending_at: null };
    },
    async pendingOf(applicationId) {
      const [counted] = await queries.run<{ pending: number }>(
        `SELECT count(*)::float8 AS pending
         FROM (SELECT subscription_id FROM deliveries WHERE application_id = $1 AND status = 'pending'
               LIMIT ${mostPendingOfApplication}) AS counted
         WHERE EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = counted.subscription_id)`,
        [applicationId],
      );
      return counted?.pending ?? 0;
    },
    async backlogOfAll() {
      // Partial indexes have the numbers of pending deliveries. Numbers ascend with the time of publishing.
      const [counted] = await queries.run<Backlog>(
        `WITH pending AS MATERIALIZED (SELECT seq FROM deliveries WHERE status = 'pending' LIMIT ${mostPendingCounted})
         SELECT (SELECT count(*) FROM pending)::float8 AS pending,
           (SELECT published_at FROM deliveries
            WHERE seq = (SELECT min(seq) FROM pending))::float8 AS oldest_pending_at`,
      );
      return counted ?? { pending: 0, oldest_pending_at: null };
    },
  };
}

interface LookedRow extends StreamedRow {
  readonly body: string | null;
  readonly is_shown: boolean;
  /** Whether the delivery fits into this part of the stream. Otherwise `body` is null. */
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
    AND coalesce(broadcaster_user_id, 0) % $5::bigint = $6::bigint
    AND (SELECT count(*) > 0 FROM subscriptions s WHERE s.id = t.subscription_id) AS is_shown
FROM those t ORDER BY t.seq`;

/** Reads of the log of deliveries for event streams. */
function deliveryStream(
  queries: Queries,
): Pick<DeliveryStore, "last" | "lastBefore" | "publishedUpTo" | "lastRemoved" | "streamed"> {
  const { last, settled, between } = deliveryPositions(queries);
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
    async streamed({ applicationId, userId, shard }, after) {
      const { number, count } = shard ?? { number: 1, count: 1 };
      // Read before the rows. Above this number, rows may still be committed out of order. Those that are there already
      // are announced only once, so that a part without them is not the end.
      const { last: end, isSettled } = await settled();
      const rows = await queries.run<LookedRow>(ahead, [
        applicationId,
        after,
        end,
        userId,
        count,
        number - 1,
      ]);
      const taken = rows.slice(0, mostStreamed.deliveries).filter(({ fits }) => fits);
      const isAll = taken.length === rows.length;
      const streamed = taken.filter(({ is_shown }) => is_shown);
      return {
        deliveries: streamed.flatMap((row) => (row.body === null ? [] : streamedDelivery(row, row.body))),
        lost: streamed.filter(({ body }) => body === null).length,
        upTo: Math.max(after, isAll ? end : (taken.at(-1)?.seq ?? after)),
        isAll: isAll && isSettled,
      };
    },
  };
}

/** The queue of deliveries, and the log that they become. */
export function deliveryStore(pool: Postgres, claimed: ClaimedDeliveries, owned: OwnedShards): DeliveryStore {
  const dialect = postgresDialect(pool);
  const addNotice = noticeAdder(dialect);
  const isOfUser = (user: number) => eq(deliveries.broadcaster_user_id, user);
  const { page, find, backlog, pendingOf, backlogOfAll } = deliveryLog(pool);
  /**
   * The fences of states that are being recorded, as they were at the first try: a later try may be in another epoch,
   * in which the state is outdated.
   */
  const fences = new WeakMap<Endpoint, Fence>();
  const fenceOf = (endpoint: Endpoint): Fence => {
    const fence = fences.get(endpoint) ?? owned.of(endpoint.application_id);
    fences.set(endpoint, fence);
    return fence;
  };
  return {
    ...deliveryClaims(pool, claimed, owned),
    ...deliveryStream(pool),
    async record(results, endpoints, notices = [], locked) {
      const claims = claimed.claimsOf(results);
      const states = endpoints.map((one) => ({ ...one, ...fenceOf(one) }));
      const record = (queries: Queries) => recordAttempts(queries, claims, results, states);
      let found: LockedRecords;
      if (notices.length === 0) found = await record(pool);
      else {
        found = await pool.transact(async (transaction) => {
          const inUse = await record(transaction);
          const stateOf = ({ application_id: id }: NewNotice) =>
            endpoints.find(({ application_id }) => application_id === id);
          for (const notice of notices) {
            if (await isKeptState(transaction, stateOf(notice)))
              await finished(addNotice(transaction.orm, notice));
          }
          return inUse;
        });
      }
      locked?.(found);
      // The answer may be late: the recorder may have stored the results again meanwhile, and the engine claimed them.
      claimed.releaseClaims(new Map([...claims].filter(([seq]) => !found.seqs.has(seq))));
    },
    page,
    find,
    backlog,
    pendingOf,
    backlogOfAll,
    retry: (scope, id, now) =>
      pool.transact(async (transaction) => {
        const seq = await finished(retryDelivery(dialect, transaction.orm, isOfUser, scope, id, now));
        const retried = await deliveryLog(transaction).one(seq);
        if (!retried) throw new Error("a delivery that was made due is missing");
        return retried;
      }),
  };
}
