import type { Database } from "bun:sqlite";
import { and, count, eq, min, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Attempt } from "../../../domain/deliveries.ts";
import type {
  Backlog,
  DeliveryFilter,
  DeliveryPage,
  DeliveryRecord,
  DeliveryScope,
} from "../../../domain/delivery-log.ts";
import type { DeliveryStore } from "../../deliveries.ts";
import { deliveries, isHandedOut } from "../schema/events.ts";
import { type KeptBody, readableBody } from "./bodies.ts";
import { deliveryIndexes } from "./indexes.ts";
import { deliveryPositions, regionOf, regionSize } from "./positions.ts";

/** Limits of one request: rows of the log, regions of its index, and time. */
const maxRows = 2_000;
const maxRegions = 1_024;
const maxMs = 5;

const everyNumber = { from: 0, behind: Number.MAX_SAFE_INTEGER };

/** The most pending deliveries that are counted. */
const maxCounted = 5_000;

type LoggedRow = Omit<DeliveryRecord, "attempts">;

interface LoggedAttempt extends Omit<Attempt, "timings"> {
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
): Pick<DeliveryStore, "page" | "find" | "backlog"> & {
  one(seq: number): DeliveryRecord | null;
  /** A delivery without its attempts. */
  row(seq: number): LoggedRow | null;
} {
  const { first, last, since, ofEvent } = deliveryPositions(orm);
  const { inRegion, ofSubscription, failedOrExpired } = deliveryIndexes(db, "DESC");
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
           WHERE application_id = ? AND next_attempt_at IS NOT NULL LIMIT ${maxCounted})`,
  );
  const handedOut = orm
    .select({ pending: count(), oldest: min(deliveries.seq) })
    .from(deliveries)
    .where(and(isHandedOut, eq(deliveries.subscription_id, sql.placeholder("id"))))
    .prepare();

  const complete = (row: LoggedRow): DeliveryRecord => ({ ...row, attempts: attemptsOf(row.seq) });

  /** Yields candidates with numbers from `floor` to below `top`, newest first. */
  function* candidates(filter: DeliveryFilter, floor: number, top: number): Generator<Step, void> {
    const { application_id, subscription_id, status } = filter;
    if (application_id === null) {
      for (const { seq } of everyDelivery.iterate(floor, top)) yield { seq, isRow: true };
    } else if (status === "failed" || status === "expired") {
      for (const { seq } of failedOrExpired.iterate(application_id, floor, top, maxRows))
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
    const behind = last() + 1;
    const before = filter.before === null ? behind : since(filter.before);
    const top = Math.min(behind, of.behind, before, below ?? behind);
    const until = performance.now() + maxMs;
    const deliveries: DeliveryRecord[] = [];
    let [rows, regions, lookedAt] = [0, 0, top];
    for (const { seq, isRow } of candidates(filter, floor, top)) {
      const row = isRow ? bySeq.get(seq) : null;
      if (row && matches(row, filter)) {
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
      if (rows >= maxCounted || regions >= maxRegions) break;
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
      kept.looked < maxCounted
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
    one(seq) {
      const row = bySeq.get(seq);
      return row ? complete(row) : null;
    },
    row: (seq) => bySeq.get(seq),
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

/** Whether a delivery matches a filter, apart from its event and time of publishing. */
export function matches(
  row: LoggedRow,
  filter: Omit<DeliveryFilter, "event_id" | "after" | "before">,
): boolean {
  const { subscription_id, status, type } = filter;
  return (
    isWithin(row, filter) &&
    (subscription_id === null || row.subscription_id === subscription_id) &&
    (status === null || row.status === status) &&
    (type === null || row.type === type)
  );
}

/** Makes a function that reads the attempts of a delivery, in order. */
export function attemptReader(db: Database): (seq: number) => Attempt[] {
  const attempts = db.prepare<LoggedAttempt, [number]>(
    `SELECT at, outcome, status, duration_ms, dns_ms, connect_ms, tls_ms, first_byte_ms, error, response
     FROM attempts WHERE delivery_seq = ? ORDER BY number`,
  );
  return (seq) =>
    attempts.all(seq).map(({ dns_ms, connect_ms, tls_ms, first_byte_ms, ...rest }) => {
      const timings = { dnsMs: dns_ms, connectMs: connect_ms, tlsMs: tls_ms, firstByteMs: first_byte_ms };
      return { ...rest, timings };
    });
}
