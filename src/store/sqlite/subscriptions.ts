import type { Database } from "bun:sqlite";
import { and, eq, inArray, type SQL, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { newId } from "../../domain/ids.ts";
import type { SubscriptionKey } from "../../domain/subscriptions.ts";
import { isoTime } from "../../domain/time.ts";
import type { Store, SubscribeResult } from "../store.ts";
import { deliveryCanceler } from "./cancel.ts";
import type { Commit } from "./commit.ts";
import { subscriptions, users } from "./schema.ts";

export function subscriptionStore(
  db: Database,
  orm: BunSQLiteDatabase,
  commit: Commit,
): Store["subscriptions"] {
  const shown = {
    id: subscriptions.id,
    app_id: subscriptions.app_id,
    broadcaster_user_id: subscriptions.broadcaster_user_id,
    event: subscriptions.event,
    version: subscriptions.version,
    method: sql<"webhook">`'webhook'`,
    created_at: subscriptions.created_at,
    updated_at: subscriptions.updated_at,
  };
  const ofApplication = orm
    .select(shown)
    .from(subscriptions)
    .where(eq(subscriptions.app_id, sql.placeholder("app_id")))
    .orderBy(subscriptions.id)
    .prepare();
  const find = orm
    .select({ ...shown, sequence: subscriptions.sequence })
    .from(subscriptions)
    .where(
      and(eq(subscriptions.id, sql.placeholder("id")), eq(subscriptions.app_id, sql.placeholder("app_id"))),
    )
    .limit(1)
    .prepare();
  const existing = orm
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.app_id, sql.placeholder("app_id")),
        sql`ifnull(${subscriptions.broadcaster_user_id}, 0) = ifnull(${sql.placeholder("broadcaster")}, 0)`,
        eq(subscriptions.event, sql.placeholder("event")),
        eq(subscriptions.version, sql.placeholder("version")),
      ),
    )
    .limit(1)
    .prepare();
  const userExists = orm
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const count = (applicationId: string) => orm.$count(subscriptions, eq(subscriptions.app_id, applicationId));
  const countNow = orm
    .select({ n: sql<number>`count(*)` })
    .from(subscriptions)
    .where(eq(subscriptions.app_id, sql.placeholder("app_id")))
    .limit(1)
    .prepare();

  const isThere = db.prepare<{ id: string }, [string]>("SELECT id FROM subscriptions WHERE id = ?");
  const remove = subscriptionRemover(db, orm);

  const subscribe = (key: SubscriptionKey, limit: number, now: string): SubscribeResult => {
    const { app_id, broadcaster_user_id, event, version } = key;
    const found = existing.get({ app_id, broadcaster: broadcaster_user_id, event, version });
    if (found) return found;
    if (broadcaster_user_id !== null && !userExists.get({ id: broadcaster_user_id })) {
      return { error: `broadcaster_user_id ${broadcaster_user_id} is not a known user` };
    }
    if ((countNow.get({ app_id })?.n ?? 0) >= limit) {
      return {
        error: `The limit of ${limit} subscriptions of this application is reached; delete some first`,
      };
    }
    const id = newId();
    orm
      .insert(subscriptions)
      .values({ id, ...key, created_at: now, updated_at: now })
      .run();
    return { id };
  };

  return {
    subscribe: (keys, limit, now) => commit(() => keys.map((key) => subscribe(key, limit, isoTime(now)))),
    ofApplication: async (app_id) => ofApplication.all({ app_id }),
    find: async (app_id, id) => find.get({ app_id, id }) ?? null,
    count,
    existing: async (ids) => new Set(ids.filter((id) => isThere.get(id))),
    remove: (applicationId, ids, now, userId = null) =>
      commit(() => {
        const those = inArray(subscriptions.id, [...ids]);
        const ofUser = userId === null ? undefined : eq(subscriptions.broadcaster_user_id, userId);
        remove(applicationId, and(those, ofUser), now);
      }),
  };
}

/**
 * Removes subscriptions of an application, all that `which` is true of, and cancels their deliveries that are in the
 * store; to be called within a commit.
 */
export function subscriptionRemover(db: Database, orm: BunSQLiteDatabase) {
  const cancel = deliveryCanceler(db);
  return (applicationId: string, which: SQL | undefined, now: number): void => {
    const removed = orm
      .delete(subscriptions)
      .where(and(eq(subscriptions.app_id, applicationId), which))
      .returning({ id: subscriptions.id })
      .all();
    const ids = removed.map(({ id }) => id);
    cancel.ofSubscriptions(applicationId, ids, now);
  };
}
