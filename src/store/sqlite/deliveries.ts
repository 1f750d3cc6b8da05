import type { Database } from "bun:sqlite";
import { and, count, desc, eq, lte, min, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import {
  type Attempt,
  type AttemptResult,
  type Backlog,
  type DeliveryFilter,
  type DeliveryPage,
  type DeliveryRecord,
  type DeliveryScope,
  type DeliveryStore,
  type FailedExchange,
  mostPendingCounted,
  mostPendingOfApplication,
  mostPendingOfSubscription,
  type StreamedDelivery,
  statusesIn,
} from "../../domain/deliveries.ts";
import { TimeSlice } from "../../runtime/event-loop.ts";
import {
  isUndelivered,
  mostStreamed,
  retryDelivery,
  type StreamedRow,
  streamedDelivery,
} from "../drizzle/deliveries.ts";
import type { Dialect } from "../drizzle/dialect.ts";
import { noticeAdder } from "../drizzle/notices.ts";
import type { Commit } from "./commit.ts";
import { deliveryPositions, type KeptBody, readableBody, regionOf, regionSize } from "./delivery-rows.ts";
import { finished } from "./dialect.ts";
import { attemptRecorder, deliveryClaims, endpointKeeper } from "./queue.ts";
import { deliveries, deliveryRegionBits, events, isHandedOut, removedDeliveries } from "./schema.ts";
import type { Snapshots } from "./snapshots.ts";

interface Numbered {
  readonly seq: number;
}

/**
 * Prepares statements for the numbers of an application's deliveries in a range. INDEXED BY is necessary, because
 * SQLite would otherwise scan the table, which already has the wanted order.
 */
export function deliveryIndexes(db: Database, order: "ASC" | "DESC") {
  const region = `SELECT seq FROM deliveries INDEXED BY deliveries_application
     WHERE seq >> ${deliveryRegionBits} = ? AND application_id = ?`;
  const bounded = `AND seq >= ? AND seq < ? ORDER BY seq ${order} LIMIT ?`;
  return {
    inRegion: db.prepare<Numbered, [number, string, number, number, number]>(`${region} ${bounded}`),
    ofSubscription: db.prepare<Numbered, [number, string, string, number, number, number]>(
      `${region} AND subscription_id = ? ${bounded}`,
    ),
    // SQLite uses the partial index only with this condition on the status.
    undelivered: db.prepare<Numbered, [string, number, number, number]>(
      `SELECT seq FROM deliveries INDEXED BY deliveries_failed
       WHERE application_id = ? AND status NOT IN ('pending', 'delivered') ${bounded}`,
    ),
  };
}

/** The most rows of the log that one request reads. */
const maxRows = 2_000;
/** The most regions of the log's index that one request reads. */
const maxRegions = 1_024;
/** The time after which a request reads no further. */
const maxMs = 5;

const everyNumber = { from: 0, end: Number.MAX_SAFE_INTEGER };

type LoggedRow = Omit<DeliveryRecord, "attempts" | "broadcaster_username">;

interface LoggedAttempt extends Omit<Attempt, "timings" | "exchange"> {
  /** JSON. */
  readonly exchange: string | null;
  readonly dns_ms: number | null;
  readonly connect_ms: number | null;
  readonly tls_ms: number | null;
  readonly first_byte_ms: number | null;
}

/**
 * Reads of the log of deliveries. An application's deliveries are found region by region, newest first. An index
 * ordered by subscription would be faster to read, but publishing an event would write a page of it for each
 * subscriber.
 */
export function deliveryLog(
  db: Database,
  orm: BunSQLiteDatabase,
): Pick<DeliveryStore, "page" | "find" | "backlog" | "pendingOf"> & {
  one(seq: number): DeliveryRecord | null;
  /** Whether a delivery matches a filter, apart from its event and time of publishing. */
  matches(seq: number, filter: RowFilter): boolean;
} {
  const { first, last, since, ofEvent } = deliveryPositions(orm);
  const { inRegion, ofSubscription, undelivered } = deliveryIndexes(db, "DESC");
  const columns = `d.seq, d.id, d.application_id, d.subscription_id, e.id AS event_id, e.name AS type, e.version,
    e.broadcaster_user_id, d.sequence, d.next_attempt_at, d.expires_at, d.finished_at, e.published_at,
    CASE WHEN d.status = 'pending' AND NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = d.subscription_id)
         THEN 'canceled' ELSE d.status END AS status`;
  const bySeq = db.prepare<LoggedRow, [number]>(
    `SELECT ${columns} FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE d.seq = ?`,
  );
  const byId = db.prepare<LoggedRow & { body: KeptBody | null }, [string]>(
    `SELECT ${columns}, e.body FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE d.id = ?`,
  );
  const attemptsOf = attemptReader(db);
  const everyDelivery = db.prepare<{ seq: number }, [number, number]>(
    "SELECT seq FROM deliveries WHERE seq >= ? AND seq < ? ORDER BY seq DESC",
  );
  const inStore = db.prepare<Counted & { readonly looked: number }, [string, string, string]>(
    `SELECT count(*) AS looked, ifnull(sum(subscription_id = ?), 0) AS pending,
            min(CASE WHEN subscription_id = ? THEN seq END) AS oldest
     FROM (SELECT seq, subscription_id FROM deliveries INDEXED BY deliveries_due
           WHERE application_id = ? AND next_attempt_at IS NOT NULL LIMIT ${mostPendingOfSubscription})`,
  );
  const isSubscribed = "EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = subscription_id)";
  const waitingOf = db.prepare<{ readonly pending: number }, [string]>(
    `SELECT count(*) AS pending
     FROM (SELECT subscription_id FROM deliveries INDEXED BY deliveries_due
           WHERE application_id = ? AND next_attempt_at IS NOT NULL LIMIT ${mostPendingOfApplication})
     WHERE ${isSubscribed}`,
  );
  const handedOutOf = db.prepare<{ readonly pending: number }, [string]>(
    `SELECT count(*) AS pending FROM deliveries INDEXED BY deliveries_handed_out
     WHERE status = 'pending' AND next_attempt_at IS NULL AND application_id = ? AND ${isSubscribed}`,
  );
  const handedOut = orm
    .select({ pending: count(), oldest: min(deliveries.seq) })
    .from(deliveries)
    .where(and(isHandedOut, eq(deliveries.subscription_id, sql.placeholder("id"))))
    .prepare();

  const subscription = db.prepare<{ id: string }, [string]>("SELECT id FROM subscriptions WHERE id = ?");
  const attempt = db.prepare<{ number: number }, [number]>(
    "SELECT number FROM attempts WHERE delivery_seq = ? LIMIT 1",
  );
  const isWanted = (row: LoggedRow, filter: RowFilter): boolean =>
    matches(row, filter) &&
    (filter.status !== "missed" || subscription.get(row.subscription_id) !== null) &&
    (filter.status !== "failing" || attempt.get(row.seq) !== null);
  const nameOf = db.prepare<{ username: string }, [number]>("SELECT username FROM users WHERE id = ?");
  const complete = (row: LoggedRow): DeliveryRecord => ({
    ...row,
    broadcaster_username: nameOf.get(row.broadcaster_user_id)?.username ?? null,
    attempts: attemptsOf(row.seq),
  });

  /** Yields candidates with numbers from `floor` to below `top`, newest first. */
  function* candidates(filter: DeliveryFilter, floor: number, top: number): Generator<Step, void> {
    const { application_id, subscription_id, status } = filter;
    if (application_id === null) {
      for (const { seq } of everyDelivery.iterate(floor, top)) yield { seq, isRow: true };
    } else if (isUndelivered(status)) {
      for (const { seq } of undelivered.iterate(application_id, floor, top, maxRows))
        yield { seq, isRow: true };
    } else {
      const lastRegion = regionOf(floor);
      for (let at = regionOf(top - 1); at >= lastRegion; at--) {
        const rows =
          subscription_id === null
            ? inRegion.all(at, application_id, floor, top, maxRows)
            : ofSubscription.all(at, application_id, subscription_id, floor, top, maxRows);
        for (const { seq } of rows) yield { seq, isRow: true };
        yield { seq: at * regionSize, isRow: false };
      }
    }
  }

  const page = (filter: DeliveryFilter, below: number | null, limit: number): DeliveryPage => {
    const lowest = first();
    const of = filter.event_id === null ? everyNumber : ofEvent(filter.event_id);
    if (lowest === null || of === null) return { deliveries: [], next: null };
    const floor = Math.max(lowest, of.from, filter.after === null ? 0 : since(filter.after));
    const end = last() + 1;
    const before = filter.before === null ? end : since(filter.before);
    const top = Math.min(end, of.end, before, below ?? end);
    const until = performance.now() + maxMs;
    const deliveries: DeliveryRecord[] = [];
    let [rows, regions, lookedAt] = [0, 0, top];
    for (const { seq, isRow } of candidates(filter, floor, top)) {
      const row = isRow ? bySeq.get(seq) : null;
      if (row && isWanted(row, filter)) {
        if (deliveries.length === limit) return { deliveries, next: lookedAt };
        deliveries.push(complete(row));
      }
      lookedAt = seq;
      if (isRow) rows++;
      else regions++;
      const isLate = (rows + regions) % 64 === 0 && performance.now() > until;
      if (rows >= maxRows || regions >= maxRegions || isLate) return { deliveries, next: lookedAt };
    }
    return { deliveries, next: null };
  };

  /** Counts the newest pending deliveries of a subscription, for an application with too many to count. */
  const newestPending = (applicationId: string, subscriptionId: string): Counted => {
    const all = {
      event_id: null,
      status: null,
      type: null,
      broadcaster_user_id: null,
      after: null,
      before: null,
    };
    const filter = { ...all, application_id: applicationId, subscription_id: subscriptionId };
    const found: number[] = [];
    let [rows, regions] = [0, 0];
    for (const { seq, isRow } of candidates(filter, first() ?? 0, last() + 1)) {
      if (rows >= mostPendingOfSubscription || regions >= maxRegions) break;
      if (isRow) rows++;
      else regions++;
      if (isRow && bySeq.get(seq)?.status === "pending") found.push(seq);
    }
    return { pending: found.length, oldest: found.at(-1) ?? null };
  };

  const backlog = (applicationId: string, subscriptionId: string): Backlog => {
    const none = { pending: 0, oldest: null };
    const kept = inStore.get(subscriptionId, subscriptionId, applicationId) ?? { looked: 0, ...none };
    const counts: Counted[] =
      kept.looked < mostPendingOfSubscription
        ? [kept, handedOut.get({ id: subscriptionId }) ?? none]
        : [kept, newestPending(applicationId, subscriptionId)]
            .sort((a, b) => b.pending - a.pending)
            .slice(0, 1);
    const oldest = counts.flatMap((one) => one.oldest ?? []);
    return {
      pending: counts.reduce((sum, one) => sum + one.pending, 0),
      oldest_pending_at: oldest.length === 0 ? null : (bySeq.get(Math.min(...oldest))?.published_at ?? null),
    };
  };

  return {
    page: async (filter, below, limit) => page(filter, below, limit),
    async find(scope, id) {
      const found = byId.get(id);
      if (!found || !isWithin(found, scope)) return null;
      const { body, ...row } = found;
      return { ...complete(row), body: readableBody(body)?.toString() ?? null };
    },
    backlog: async (applicationId, subscriptionId) => backlog(applicationId, subscriptionId),
    async pendingOf(applicationId) {
      const [waiting, handedOut] = [waitingOf.get(applicationId), handedOutOf.get(applicationId)];
      return Math.min((waiting?.pending ?? 0) + (handedOut?.pending ?? 0), mostPendingOfApplication);
    },
    one(seq) {
      const row = bySeq.get(seq);
      return row ? complete(row) : null;
    },
    matches(seq, filter) {
      const row = bySeq.get(seq);
      return row !== null && isWanted(row, filter);
    },
  };
}

interface Counted {
  readonly pending: number;
  readonly oldest: number | null;
}

/** Either a delivery, or the first number of a region of the index that was read. */
interface Step {
  readonly seq: number;
  readonly isRow: boolean;
}

function isWithin(row: LoggedRow, scope: DeliveryScope): boolean {
  if (scope.application_id !== null && row.application_id !== scope.application_id) return false;
  return scope.broadcaster_user_id === null || row.broadcaster_user_id === scope.broadcaster_user_id;
}

type RowFilter = Omit<DeliveryFilter, "event_id" | "after" | "before">;

/** Whether a delivery matches a filter, apart from its event, time, and what its status says beyond the column. */
function matches(row: LoggedRow, filter: RowFilter): boolean {
  const { subscription_id, status, type } = filter;
  return (
    isWithin(row, filter) &&
    (subscription_id === null || row.subscription_id === subscription_id) &&
    (status === null || statusesIn(status).includes(row.status)) &&
    (type === null || row.type === type)
  );
}

/** Makes a function that reads the attempts of a delivery, in order. */
export function attemptReader(db: Database): (seq: number) => Attempt[] {
  const attempts = db.prepare<LoggedAttempt, [number]>(
    `SELECT at, outcome, status, duration_ms, dns_ms, connect_ms, tls_ms, first_byte_ms, error, response, generation,
       exchange
     FROM attempts WHERE delivery_seq = ? ORDER BY number`,
  );
  return (seq) =>
    attempts.all(seq).map(({ dns_ms, connect_ms, tls_ms, first_byte_ms, exchange, ...rest }) => {
      const timings = { dnsMs: dns_ms, connectMs: connect_ms, tlsMs: tls_ms, firstByteMs: first_byte_ms };
      // A boundary: `attemptRecorder` has stored it.
      const kept = exchange === null ? null : (JSON.parse(exchange) as FailedExchange);
      return { ...rest, timings, exchange: kept };
    });
}

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
async function backlogOfAll(snapshot: Database): Promise<Backlog> {
  const slice = new TimeSlice();
  let count = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (const { seq } of snapshot.query<{ seq: number }, []>(pendingDeliveries).iterate()) {
    oldest = Math.min(oldest, seq);
    if (++count % rowsAtOnce === 0 && slice.isOver) await slice.next();
  }
  const first = count === 0 ? null : snapshot.query<{ at: number }, [number]>(publishedAt).get(oldest);
  return { pending: count, oldest_pending_at: first?.at ?? null };
}

/** The most regions of the log that one read of a stream looks at. It stops behind `maxRows` rows. */
const mostRegions = 256;

interface LookedRow extends StreamedRow {
  readonly body: KeptBody | null;
  readonly isShown: 0 | 1;
}

/** Reads of the log of deliveries for event streams: the deliveries of an application, region by region. */
function deliveryStream(
  db: Database,
  orm: BunSQLiteDatabase,
): Pick<DeliveryStore, "last" | "lastBefore" | "publishedUpTo" | "lastRemoved" | "streamed"> {
  const { last, since } = deliveryPositions(orm);
  const lastRemoved = orm
    .select({ up_to: removedDeliveries.up_to })
    .from(removedDeliveries)
    .where(eq(removedDeliveries.application_id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const upTo = orm
    .select({ at: events.published_at })
    .from(deliveries)
    .innerJoin(events, eq(events.seq, deliveries.event_seq))
    .where(lte(deliveries.seq, sql.placeholder("seq")))
    .orderBy(desc(deliveries.seq))
    .limit(1)
    .prepare();
  // The inner query sorts numbers from the index alone, so that bodies are not sorted.
  const inRegion = db.prepare<LookedRow, [number, string, number, number | null, number, number]>(
    `SELECT d.seq, d.id, d.subscription_id, d.sequence,
            e.id AS event_id, e.name, e.version, e.body, e.published_at,
            d.status <> 'canceled' AND (?4 IS NULL OR e.broadcaster_user_id = ?4)
              AND coalesce(e.broadcaster_user_id, 0) % ?5 = ?6
              AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = d.subscription_id) AS isShown
     FROM (SELECT seq FROM deliveries
           WHERE seq >> ${deliveryRegionBits} = ?1 AND application_id = ?2 AND seq > ?3 ORDER BY seq) AS those
     CROSS JOIN deliveries d ON d.seq = those.seq
     CROSS JOIN events e ON e.seq = d.event_seq
     ORDER BY those.seq`,
  );

  return {
    last: async () => last(),
    lastBefore: async (time) => Math.min(since(time) - 1, last()),
    publishedUpTo: async (seq) => upTo.get({ seq })?.at ?? null,
    lastRemoved: async (id) => lastRemoved.get({ id })?.up_to ?? 0,
    async streamed({ applicationId, userId, shard }, after) {
      const { number, count } = shard ?? { number: 1, count: 1 };
      // Read first: deliveries that are committed after this must not count as read.
      const end = last();
      const found: StreamedDelivery[] = [];
      let bytes = 0;
      let lost = 0;
      let looked = 0;
      const first = regionOf(after + 1);
      const lastRegion = Math.min(regionOf(end), first + mostRegions - 1);
      for (let region = first; region <= lastRegion; region++) {
        for (const row of inRegion.iterate(region, applicationId, after, userId, count, number - 1)) {
          const isFull = found.length >= mostStreamed.deliveries || bytes >= mostStreamed.bytes;
          if (isFull || looked++ === maxRows) {
            return { deliveries: found, lost, upTo: row.seq - 1, isAll: false };
          }
          if (row.isShown === 0) continue;
          const body = readableBody(row.body)?.toString() ?? null;
          if (body === null) lost++;
          else {
            bytes += body.length;
            found.push(streamedDelivery(row, body));
          }
        }
      }
      const lastLooked = (lastRegion + 1) * regionSize - 1;
      const isAll = end <= lastLooked;
      return { deliveries: found, lost, upTo: Math.max(after, Math.min(end, lastLooked)), isAll };
    },
  };
}

interface DeliveryStoreParts {
  readonly dialect: Dialect;
  /** For counting the backlog, which takes many turns of the event loop. */
  readonly snapshots: Snapshots;
}

/** The queue of deliveries, and the log that they become. */
export function deliveryStore(
  db: Database,
  orm: BunSQLiteDatabase,
  commit: Commit,
  { dialect, snapshots }: DeliveryStoreParts,
): DeliveryStore {
  const keepEndpoint = endpointKeeper(orm);
  const addNotice = noticeAdder(dialect);
  const claims = deliveryClaims(db, orm, commit);
  const record = attemptRecorder(db);
  /** Results whose claims have ended. If one is recorded again, any claim of its delivery is a later one. */
  const recorded = new WeakSet<AttemptResult>();
  const log = deliveryLog(db, orm);
  const isOfUser = (user: number) => sql`EXISTS (SELECT 1 FROM events e
    WHERE e.seq = ${deliveries.event_seq} AND e.broadcaster_user_id = ${user})`;
  return {
    ...claims,
    ...deliveryStream(db, orm),
    async record(results, endpoints, notices = []) {
      await commit(() => {
        record(results);
        const kept = new Set(endpoints.filter(keepEndpoint).map(({ application_id }) => application_id));
        for (const notice of notices)
          if (kept.has(notice.application_id ?? "")) finished(addNotice(dialect.orm, notice));
      }, true);
      const first = results.filter((result) => !recorded.has(result));
      for (const result of first) recorded.add(result);
      await claims.release(first.map(({ seq }) => seq));
    },
    page: log.page,
    find: log.find,
    backlog: log.backlog,
    pendingOf: log.pendingOf,
    backlogOfAll: () => snapshots.during("backlog", backlogOfAll),
    retry: (scope, id, now) =>
      commit(() => {
        const retried = log.one(finished(retryDelivery(dialect, dialect.orm, isOfUser, scope, id, now)));
        if (!retried) throw new Error("a delivery that was made due is missing");
        return retried;
      }),
  };
}
