import { and, eq, gt, type SQL, sql } from "drizzle-orm";
import type { SubscriptionFilter } from "../../domain/subscriptions.ts";
import type { RemovedSubscriptions, SubscriptionStore } from "../subscriptions.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";

/** Cancels what is pending of removed subscriptions, inside a transaction. */
export type CancelSubscriptions = (
  orm: Orm,
  removed: readonly RemovedSubscriptions[],
  now: number,
) => Work<void>;

/** What is read of subscriptions. */
export function subscriptionReads({
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
  orm: Orm,
  cancel: CancelSubscriptions,
  application_id: string,
  removal: PromiseLike<readonly { readonly id: string }[]>,
  now: number,
): Work<string[]> {
  const ids = (yield* execute(removal)).map(({ id }) => id);
  yield* cancel(orm, [{ application_id, ids }], now);
  return ids;
}

/** How an application removes its subscriptions: of a user only those whose broadcaster that is. */
export function subscriptionRemoval(
  { tables: { subscriptions }, transact, prepared, isOneOf }: Dialect,
  cancel: CancelSubscriptions,
): SubscriptionStore["remove"] {
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
      return removeSubscriptions(orm, cancel, app, remove(orm, { app, ids, user }), now);
    });
}
