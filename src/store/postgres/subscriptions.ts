import { and, eq, sql } from "drizzle-orm";
import { DomainError } from "../../domain/errors.ts";
import { findEventType } from "../../domain/events/catalogue.ts";
import { newId } from "../../domain/ids.ts";
import { type Subscription, type SubscriptionKey, whyNotSubscribed } from "../../domain/subscriptions.ts";
import { isoTime } from "../../domain/time.ts";
import type { Dialect } from "../drizzle/dialect.ts";
import { subscriptionReads, subscriptionRemoval } from "../drizzle/subscriptions.ts";
import type { SubscribeResult, SubscriptionStore } from "../subscriptions.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { cancelRemoved } from "./deliveries/cancel.ts";
import { applications, tokens } from "./schema/access.ts";
import { given, isOneOf } from "./schema/columns.ts";
import { users } from "./schema/platform.ts";
import { eventTypes, subscriptions } from "./schema/subscriptions.ts";
import { readSubscriptionList } from "./subscription-list.ts";

export function subscriptionStore(db: Postgres, shared: Dialect): SubscriptionStore {
  return {
    ...subscriptionReads(shared),
    subscribe: (keys, limit, now, token = null) =>
      db.transact((transaction) => subscribe(transaction, keys, { limit, now: isoTime(now), token })),
    list: (applicationId, broadcasterId) => readSubscriptionList(db, applicationId, broadcasterId),
    count: async (applicationId) => db.orm.$count(subscriptions, eq(subscriptions.app_id, applicationId)),
    remove: subscriptionRemoval(shared, cancelRemoved),
  };
}

/**
 * Gives the subscriptions of keys, or creates them; nothing is created after the token, its consent or its application
 * ended. Locks applications, then users, then the token: in the order in which those that remove them do; and event types
 * that were registered.
 */
async function subscribe(
  { orm }: Queries,
  keys: readonly SubscriptionKey[],
  { limit, now, token }: { limit: number; now: string; token: Uint8Array | null },
): Promise<SubscribeResult[]> {
  const { id, app_id, broadcaster_user_id, event, version } = subscriptions;
  const ids = [...new Set(keys.map((key) => key.app_id))];
  const broadcasters = keys.map((key) => key.broadcaster_user_id);
  const columns = { id, app_id, broadcaster_user_id, event, version };
  // Others that subscribe for these applications, and count, come after this.
  await orm
    .select({ id: applications.id })
    .from(applications)
    .where(isOneOf(applications.id, ids))
    .orderBy(applications.id)
    .for("no key update");
  const isTheKeys = sql`EXISTS (SELECT FROM ${given(subscriptions, keys)} WHERE given.app_id = ${app_id}
    AND given.broadcaster_user_id IS NOT DISTINCT FROM ${broadcaster_user_id}
    AND given.event = ${event} AND given.version = ${version})`;
  const ownEvents = keys.filter(({ event, version }) => !findEventType(event, version));
  const [known, allowing, registered, existing, used] = await Promise.all([
    orm
      .select({ id: users.id })
      .from(users)
      .where(isOneOf(users.id, broadcasters))
      .orderBy(users.id)
      .for("key share"),
    token === null ? null : tokenOf(orm, token),
    ownEvents.length === 0 ? [] : typesOf(orm, ownEvents),
    orm
      .select(columns)
      .from(subscriptions)
      .where(and(isOneOf(app_id, ids), isTheKeys)),
    orm
      .select({ app_id, n: sql`count(*)`.mapWith(Number) })
      .from(subscriptions)
      .where(isOneOf(app_id, ids))
      .groupBy(app_id),
  ]);
  if (allowing?.length === 0) throw new DomainError("invalid_token", "The access token was revoked");
  const found = new Map(existing.map((one) => [textOf(one), one.id]));
  const isEvent = new Set(registered.map(eventOf));
  const isKnown = new Set(known.map((user) => user.id));
  const counts = new Map(used.map(({ app_id, n }) => [app_id, n]));
  const made: (typeof subscriptions.$inferInsert)[] = [];
  const results = keys.map((key): SubscribeResult => {
    const its = found.get(textOf(key));
    if (its !== undefined) return { id: its };
    if (!findEventType(key.event, key.version) && !isEvent.has(eventOf(key)))
      return { error: whyNotSubscribed.unknownEvent };
    const { app_id, broadcaster_user_id: broadcaster } = key;
    if (!isKnown.has(broadcaster)) {
      return { error: whyNotSubscribed.unknownBroadcaster(broadcaster) };
    }
    const count = counts.get(app_id) ?? 0;
    if (count >= limit) return { error: whyNotSubscribed.limitReached(limit) };
    const id = newId();
    made.push({ ...key, id, created_at: now, updated_at: now });
    counts.set(app_id, count + 1);
    found.set(textOf(key), id);
    return { id };
  });
  if (made.length === 0) return results;
  await orm.insert(subscriptions).select(
    sql`SELECT given.id, given.app_id, given.broadcaster_user_id, given.event, given.version, 0,
        given.created_at, given.updated_at, NULL
      FROM ${given(subscriptions, made)} ORDER BY given.n`,
  );
  return results;
}

/** Begins with the first `then`, behind the statements that stand before it. */
function tokenOf(orm: Queries["orm"], hash: Uint8Array) {
  const isIt = eq(tokens.hash, Buffer.from(hash));
  return orm.select({ hash: tokens.hash }).from(tokens).where(isIt).for("key share");
}

/** Those of the keys that are registered. */
function typesOf(orm: Queries["orm"], keys: readonly SubscriptionKey[]) {
  const { name: event, version } = eventTypes;
  const isOne = sql`EXISTS (SELECT FROM ${given(subscriptions, keys)} WHERE given.event = ${event} AND given.version = ${version})`;
  return orm.select({ event, version }).from(eventTypes).where(isOne).for("key share");
}

const eventOf = ({ event, version }: Pick<SubscriptionKey, "event" | "version">) => `${event} ${version}`;

const textOf = ({ app_id, broadcaster_user_id, event, version }: Pick<Subscription, keyof SubscriptionKey>) =>
  `${app_id} ${broadcaster_user_id} ${event} ${version}`;
