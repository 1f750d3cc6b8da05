import { and, eq, type SQL, sql } from "drizzle-orm";
import {
  type DeliveryScope,
  type DueDelivery,
  maxAttempts,
  type NewEvent,
  type SentEvent,
  type StatusFilter,
  type StoredEvent,
  type StoredEvents,
  type StreamedDelivery,
} from "../../domain/deliveries.ts";
import { DomainError } from "../../domain/errors.ts";
import { notSentAgain, type ReplaySkips } from "../../domain/replays.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";
import { requireReceiver } from "./endpoints.ts";

/** The error for an event with the id of another event. */
export const idOfOther = (id: string): DomainError =>
  new DomainError("conflict", `The id ${id} belongs to another event`);

/** Returns a delivery that was just stored, as the dispatcher takes it into memory. */
export function newDelivery(
  stored: Pick<DueDelivery, "seq" | "id" | "application_id" | "subscription_id" | "sequence">,
  { expires_at }: NewEvent,
  event: SentEvent,
): DueDelivery {
  return {
    ...stored,
    isSubscribed: true,
    attempts: 0,
    extra_attempts: 0,
    resume_at: null,
    expires_at,
    event,
  };
}

/** Joins the results of events that were stored together. */
export function joinedEvents(stored: readonly StoredEvent[]): StoredEvents {
  return {
    published: stored.map(({ id, deliveries }) => ({ id, deliveries })),
    taken: stored.flatMap(({ taken }) => taken),
    streamed: [...new Set(stored.flatMap(({ streamed }) => streamed))],
    filtered: stored.flatMap(({ filtered }) => filtered),
  };
}

/** The most deliveries, and the size of bodies after which no further one is read, in one read of an event stream. */
export const mostStreamed = { deliveries: 256, bytes: 256 * 1024 } as const;

/** A row with a delivery and its event, without the body. */
export interface StreamedRow
  extends Omit<StreamedDelivery, "attempts" | "event">,
    Omit<StreamedDelivery["event"], "id" | "body"> {
  readonly event_id: string;
}

export function streamedDelivery(row: StreamedRow, body: string): StreamedDelivery {
  const { seq, id, subscription_id, sequence, event_id, name, version, published_at } = row;
  const event = { id: event_id, name, version, body };
  return { seq, id, subscription_id, sequence, attempts: 0, published_at, event };
}

/** Whether only ended deliveries that did not succeed match a filter. Both databases have an index of these alone. */
export const isUndelivered = (status: StatusFilter | null): boolean =>
  status === "failed" || status === "expired" || status === "missed";

/** Column: why a delivery cannot be sent again, or null. */
export function obstacleOf({ deliveries }: Tables): SQL<keyof ReplaySkips | null> {
  const { subscription_id, event_seq, attempts } = deliveries;
  return sql`CASE
    WHEN (SELECT count(*) = 0 FROM subscriptions s WHERE s.id = ${subscription_id}) THEN 'subscription_deleted'
    WHEN (SELECT count(*) = 0 FROM events e WHERE e.seq = ${event_seq} AND e.body IS NOT NULL) THEN 'body_not_kept'
    WHEN ${attempts} >= ${sql.raw(String(maxAttempts))} THEN 'attempts_used_up' END`;
}

/**
 * Makes deliveries due at a time, inside a transaction. A finished delivery becomes pending again, with its id and
 * attempts. It no longer expires, because a person has asked for it. The time of a delivery that is in memory, or waits
 * for its first attempt, is unchanged, because it is sent next anyway.
 */
export function* requeue(
  { tables: { deliveries }, isOneOf }: Dialect,
  orm: Orm,
  seqs: readonly number[],
  now: number,
): Work<void> {
  if (seqs.length === 0) return;
  const { seq, status, next_attempt_at: next, resume_at } = deliveries;
  const due = {
    resume_at: sql`CASE WHEN ${status} <> 'pending' THEN ${now} WHEN ${next} > 0 THEN coalesce(${resume_at}, ${next})
      ELSE ${resume_at} END`,
    next_attempt_at: sql`CASE WHEN ${status} <> 'pending' OR ${next} > ${now} THEN ${now} ELSE ${next} END`,
    status: "pending",
    finished_at: null,
    expires_at: null,
  } as const;
  yield* execute(orm.update(deliveries).set(due).where(isOneOf(seq, seqs)));
}

/**
 * Makes one delivery due, inside a transaction, and returns its number. Throws `not_found` or `conflict`.
 *
 * @param isOfUser makes the condition that a delivery's broadcaster is this user
 */
export function* retryDelivery(
  db: Dialect,
  orm: Orm,
  isOfUser: (userId: number) => SQL,
  { application_id: app, broadcaster_user_id: user }: DeliveryScope,
  id: string,
  now: number,
): Work<number> {
  const { deliveries } = db.tables;
  const { seq, application_id } = deliveries;
  const isIt = and(
    eq(deliveries.id, id),
    app === null ? undefined : eq(application_id, app),
    user === null ? undefined : isOfUser(user),
  );
  const query = orm.select({ seq, application_id, obstacle: obstacleOf(db.tables) }).from(deliveries);
  const [found] = yield* execute(db.lock(query.where(isIt), "update"));
  if (!found) throw new DomainError("not_found", "There is no delivery with this id");
  yield* requireReceiver(db.tables, orm, found.application_id);
  if (found.obstacle) throw new DomainError("conflict", notSentAgain[found.obstacle]);
  yield* requeue(db, orm, [found.seq], now);
  return found.seq;
}
