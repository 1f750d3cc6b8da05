import { and, eq, gt, type SQL, sql } from "drizzle-orm";
import { DomainError } from "../../domain/errors.ts";
import { findEventType } from "../../domain/events/catalogue.ts";
import { newId } from "../../domain/ids.ts";
import {
  type Subscription,
  type SubscriptionFilter,
  type SubscriptionKey,
  whyNotSubscribed,
} from "../../domain/subscriptions.ts";
import { isoTime } from "../../domain/time.ts";
import type { SubscribeResult, SubscriptionStore } from "../subscriptions.ts";
import { cancelRemoved } from "./deliveries/ending.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";

/** What each database does in its own way. */
export interface OwnStatements {
  readonly list: SubscriptionStore["list"];
  /** How many an application has. */
  counted(orm: Orm, applicationId: string): PromiseLike<readonly { readonly n: number }[]>;
  /** Whether it is of one of these applications, for one of these broadcasters: read by the index of the keys. */
  isOf(applicationIds: readonly string[], broadcasters: readonly number[]): SQL | undefined;
}

export function subscriptionStore(db: Dialect, own: OwnStatements): SubscriptionStore {
  return {
    ...subscriptionReads(db),
    subscribe: (keys, limit, now, token = null) =>
      db.transact((orm) => subscribe(db, own, orm, keys, { limit, now: isoTime(now), token })),
    list: own.list,
    count: async (applicationId) => (await own.counted(db.orm, applicationId))[0]?.n ?? 0,
    remove: subscriptionRemoval(db),
  };
}

type Made = Tables["subscriptions"]["$inferInsert"];

/**
 * Gives the subscriptions of keys, or creates them; nothing is created after the token, its consent or its application
 * ended. Locks applications, then users, then the token: in the order in which those that remove them do; and event types
 * that were registered.
 */
function* subscribe(
  db: Dialect,
  own: OwnStatements,
  orm: Orm,
  keys: readonly SubscriptionKey[],
  { limit, now, token }: { limit: number; now: string; token: Uint8Array | null },
): Work<SubscribeResult[]> {
  const { lock, isOneOf } = db;
  const { applications, subscriptions, tokens, users } = db.tables;
  const { id, app_id, broadcaster_user_id, event, version } = subscriptions;
  const ids = [...new Set(keys.map((key) => key.app_id))];
  const broadcasters = keys.map((key) => key.broadcaster_user_id);
  // Others that subscribe for these applications, and count, come after this.
  const owners = orm.select({ id: applications.id }).from(applications).where(isOneOf(applications.id, ids));
  yield* execute(lock(owners.orderBy(applications.id), "no key update"));
  const concerned = orm.select({ id: users.id }).from(users).where(isOneOf(users.id, broadcasters));
  const known = yield* execute(lock(concerned.orderBy(users.id), "key share"));
  if (token) {
    const isIt = eq(tokens.hash, Buffer.from(token));
    const allowing = orm.select({ hash: tokens.hash }).from(tokens).where(isIt);
    if ((yield* execute(lock(allowing, "key share"))).length === 0)
      throw new DomainError("invalid_token", "The access token was revoked");
  }
  const isEvent = yield* knownEvents(db, orm, keys);
  const columns = { id, app_id, broadcaster_user_id, event, version };
  const existing = yield* execute(orm.select(columns).from(subscriptions).where(own.isOf(ids, broadcasters)));
  const found = new Map(existing.map((one) => [textOf(one), one.id]));
  const isKnown = new Set(known.map((user) => user.id));
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (yield* execute(own.counted(orm, id)))[0]?.n ?? 0);
  const made: Made[] = [];
  const results = keys.map((key): SubscribeResult => {
    const its = found.get(textOf(key));
    if (its !== undefined) return { id: its };
    if (!isEvent(key)) return { error: whyNotSubscribed.unknownEvent };
    const { app_id, broadcaster_user_id: broadcaster } = key;
    if (!isKnown.has(broadcaster)) return { error: whyNotSubscribed.unknownBroadcaster(broadcaster) };
    const count = counts.get(app_id) ?? 0;
    if (count >= limit) return { error: whyNotSubscribed.limitReached(limit) };
    const id = newId();
    made.push({ ...key, id, sequence: 0, published_by: null, created_at: now, updated_at: now });
    counts.set(app_id, count + 1);
    found.set(textOf(key), id);
    return { id };
  });
  yield* db.put(orm, subscriptions, made);
  return results;
}

/** Tells which of the keys are of an event that is built in or registered. */
function* knownEvents(
  { tables: { eventTypes }, lock, isOneOf }: Dialect,
  orm: Orm,
  keys: readonly SubscriptionKey[],
): Work<(key: SubscriptionKey) => boolean> {
  const isBuiltIn = ({ event, version }: SubscriptionKey) => findEventType(event, version) !== undefined;
  const others = keys.filter((key) => !isBuiltIn(key)).map(({ event }) => event);
  if (others.length === 0) return isBuiltIn;
  const { name, version } = eventTypes;
  const named = orm.select({ name, version }).from(eventTypes).where(isOneOf(name, others));
  const registered = yield* execute(lock(named, "key share"));
  return (key) =>
    isBuiltIn(key) || registered.some((one) => one.name === key.event && one.version === key.version);
}

const textOf = ({ app_id, broadcaster_user_id, event, version }: Pick<Subscription, keyof SubscriptionKey>) =>
  `${app_id} ${broadcaster_user_id} ${event} ${version}`;

/** What is read of subscriptions. */
function subscriptionReads({
  orm,
  prepared,
  tables: { subscriptions, users },
}: Dialect): Pick<SubscriptionStore, "ofApplication" | "find" | "page"> {
  const { id, app_id, broadcaster_user_id, event, version, created_at, updated_at } = subscriptions;
  const method = sql<"webhook">`'webhook'`;
  const shown = { id, app_id, broadcaster_user_id, event, version, method, created_at, updated_at };
  /** What a list shows of a subscription for people: of several channels of a user, the oldest. */
  const named = {
    ...shown,
    username: users.username,
    channel_slug: sql<
      string | null
    >`(SELECT slug FROM channels c WHERE c.user_id = ${broadcaster_user_id} ORDER BY c.id LIMIT 1)`,
    channel_name: sql<
      string | null
    >`(SELECT name FROM channels c WHERE c.user_id = ${broadcaster_user_id} ORDER BY c.id LIMIT 1)`,
  };
  const isOwner = eq(app_id, sql.placeholder("app"));
  const ofApplication = prepared("subscriptions", (orm) =>
    orm.select(shown).from(subscriptions).where(isOwner).orderBy(id),
  );
  const find = prepared("subscription", (orm) =>
    orm
      .select({ ...shown, sequence: subscriptions.sequence })
      .from(subscriptions)
      .where(and(eq(id, sql.placeholder("id")), isOwner)),
  );
  const conditions = (filter: SubscriptionFilter, after: string) =>
    and(
      gt(id, after),
      filter.app_id === null ? undefined : eq(app_id, filter.app_id),
      filter.broadcaster_user_id === null ? undefined : eq(broadcaster_user_id, filter.broadcaster_user_id),
      filter.channel === null
        ? undefined
        : sql`${broadcaster_user_id} = (SELECT user_id FROM channels c WHERE c.slug = ${filter.channel})`,
      filter.event === null ? undefined : eq(event, filter.event),
    );
  return {
    ofApplication: async (app) => ofApplication(orm, { app }),
    find: async (app, id) => (await find(orm, { app, id }))[0] ?? null,
    page: async (filter, after, limit) =>
      orm
        .select(named)
        .from(subscriptions)
        .leftJoin(users, eq(users.id, broadcaster_user_id))
        .where(conditions(filter, after))
        .orderBy(id)
        .limit(limit),
  };
}

/** Removes subscriptions of an application by a statement, inside a transaction; gives their ids. */
export function* removeSubscriptions(
  db: Dialect,
  orm: Orm,
  application_id: string,
  removal: PromiseLike<readonly { readonly id: string }[]>,
  now: number,
): Work<string[]> {
  const ids = (yield* execute(removal)).map(({ id }) => id);
  yield* cancelRemoved(db, orm, [{ application_id, ids }], now);
  return ids;
}

/** How an application removes its subscriptions: of a user only those whose broadcaster that is. */
function subscriptionRemoval(db: Dialect): SubscriptionStore["remove"] {
  const { tables, transact, prepared, isOneOf } = db;
  const { subscriptions } = tables;
  const { id, app_id, broadcaster_user_id } = subscriptions;
  const removal = (name: string, isTheirs?: SQL) => {
    const isIt = and(eq(app_id, sql.placeholder("app")), isOneOf(id, sql.placeholder("ids")), isTheirs);
    return prepared(name, (orm) => orm.delete(subscriptions).where(isIt).returning({ id }));
  };
  const ofAll = removal("unsubscribe");
  const ofUser = removal("unsubscribe-user", eq(broadcaster_user_id, sql.placeholder("user")));
  return (app, ids, now, user = null) =>
    transact((orm) => {
      const remove = user === null ? ofAll : ofUser;
      return removeSubscriptions(db, orm, app, remove(orm, { app, ids, user }), now);
    });
}
