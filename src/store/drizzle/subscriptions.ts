import { and, count, eq, gt, type SQL, sql } from "drizzle-orm";
import { DomainError } from "../../domain/errors.ts";
import { findEventType } from "../../domain/events/built-in.ts";
import { newId } from "../../domain/ids.ts";
import {
  type SubscribeRequest,
  type SubscribeResult,
  type SubscribeResults,
  type Subscription,
  type SubscriptionFilter,
  type SubscriptionStore,
  type WantedEvent,
  whyNotSubscribed,
} from "../../domain/subscriptions.ts";
import { isoTime } from "../../domain/time.ts";
import { type Dialect, execute, executeAll, type Orm, type Tables, type Work } from "./dialect.ts";
import { cancelRemoved } from "./endpoints.ts";

/** Statements specific to a database. */
export interface OwnStatements {
  readonly list: SubscriptionStore["list"];
  /** The number of an application's subscriptions. */
  counted(orm: Orm, applicationId: string): PromiseLike<readonly { readonly n: number }[]>;
  /**
   * Condition: a subscription is of this application and one of these broadcasters. Uses the index `subscriptions_key`.
   */
  isOf(applicationId: string, broadcasters: readonly number[]): SQL | undefined;
}

export function subscriptionStore(db: Dialect, own: OwnStatements): SubscriptionStore {
  return {
    ...subscriptionReads(db),
    subscribe: (request, now) => db.transact((orm) => subscribe(db, own, orm, request, isoTime(now))),
    list: own.list,
    count: async (applicationId) => (await own.counted(db.orm, applicationId))[0]?.n ?? 0,
    remove: subscriptionRemoval(db),
  };
}

type Made = Tables["subscriptions"]["$inferInsert"];

/**
 * Returns or creates the wanted subscriptions. Creates none after the token, its consent or its application was
 * removed.
 */
function* subscribe(
  db: Dialect,
  own: OwnStatements,
  orm: Orm,
  request: SubscribeRequest,
  now: string,
): Work<SubscribeResults> {
  const { applicationId: app_id, wanted, limit, token = null } = request;
  const { hasToken, users, isEvent, found, count } = yield* lockedState(db, own, orm, request);
  if (token && !hasToken) throw new DomainError("invalid_token", "The access token was revoked");
  let used = count;
  const made: Made[] = [];
  const results = wanted.map((one): SubscribeResult => {
    const its = found.get(textOf(one));
    if (its !== undefined) return { id: its };
    if (!isEvent(one)) return { error: whyNotSubscribed.unknownEvent };
    const { broadcaster_user_id: broadcaster } = one;
    if (!users.has(broadcaster)) return { error: whyNotSubscribed.unknownBroadcaster(broadcaster) };
    if (used >= limit) return { error: whyNotSubscribed.limitReached(limit) };
    const id = newId();
    made.push({ ...one, app_id, id, sequence: 0, created_at: now, updated_at: now });
    found.set(textOf(one), id);
    used++;
    return { id };
  });
  yield* db.put(orm, db.tables.subscriptions, made);
  return { results, used };
}

/**
 * Locks the application, the users and the token, in the order in which they are locked for removal, and the registered
 * event types. Then reads the application's subscriptions. The lock makes concurrent calls for the application count
 * one by one.
 */
function* lockedState(
  { tables, lock, isOneOf }: Dialect,
  own: OwnStatements,
  orm: Orm,
  { applicationId, wanted, token }: SubscribeRequest,
) {
  const { applications, eventTypes, subscriptions, tokens, users } = tables;
  const broadcasters = [...new Set(wanted.map(({ broadcaster_user_id }) => broadcaster_user_id))];
  const others = wanted.filter((one) => !isBuiltIn(one)).map((one) => one.event);
  const application = orm.select({ id: applications.id }).from(applications);
  const concerned = orm.select({ id: users.id }).from(users).where(isOneOf(users.id, broadcasters));
  const allowing = orm.select({ hash: tokens.hash }).from(tokens);
  const types = orm.select({ name: eventTypes.name, version: eventTypes.version }).from(eventTypes);
  const { id, broadcaster_user_id, event, version } = subscriptions;
  const existing = orm.select({ id, broadcaster_user_id, event, version }).from(subscriptions);
  const [, known, allowed, registered, found, [counted]] = yield* executeAll(
    lock(application.where(eq(applications.id, applicationId)), "no key update"),
    lock(concerned.orderBy(users.id), "key share"),
    // Without a token this is an empty hash, which matches no row.
    lock(allowing.where(eq(tokens.hash, Buffer.from(token ?? []))), "key share"),
    lock(types.where(isOneOf(eventTypes.name, others)), "key share"),
    existing.where(own.isOf(applicationId, broadcasters)),
    own.counted(orm, applicationId),
  );
  const isRegistered = ({ event, version }: WantedEvent) =>
    registered.some((type) => type.name === event && type.version === version);
  return {
    hasToken: allowed.length > 0,
    users: new Set(known.map((user) => user.id)),
    isEvent: (one: WantedEvent) => isBuiltIn(one) || isRegistered(one),
    found: new Map(found.map((one) => [textOf(one), one.id])),
    count: counted?.n ?? 0,
  };
}

const isBuiltIn = ({ event, version }: WantedEvent) => findEventType(event, version) !== undefined;

const textOf = ({ broadcaster_user_id, event, version }: Pick<Subscription, keyof WantedEvent>) =>
  `${broadcaster_user_id} ${event} ${version}`;

function subscriptionReads({
  orm,
  prepared,
  isOneOf,
  tables: { subscriptions, users },
}: Dialect): Pick<SubscriptionStore, "ofApplication" | "find" | "page" | "counts"> {
  const { id, app_id, broadcaster_user_id, event, version, created_at, updated_at } = subscriptions;
  const method = sql<"webhook">`'webhook'`;
  const columns = { id, app_id, broadcaster_user_id, event, version, method, created_at, updated_at };
  /** The columns of a list for people. Of a user with several channels it has the channel with the lowest id. */
  const named = {
    ...columns,
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
    orm.select(columns).from(subscriptions).where(isOwner).orderBy(id),
  );
  const find = prepared("subscription", (orm) =>
    orm
      .select({ ...columns, sequence: subscriptions.sequence })
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
    counts: async (broadcasters) =>
      orm
        .select({ broadcaster_user_id, count: count() })
        .from(subscriptions)
        .where(isOneOf(broadcaster_user_id, broadcasters))
        .groupBy(broadcaster_user_id),
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

/**
 * Runs a statement that removes subscriptions, inside a transaction, and cancels their deliveries. Returns their ids.
 */
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

/** Makes `SubscriptionStore.remove`. With a user, it removes only subscriptions to that broadcaster. */
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
