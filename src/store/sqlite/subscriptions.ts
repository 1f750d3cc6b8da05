import { and, eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { DomainError } from "../../domain/errors.ts";
import { findEventType } from "../../domain/events/catalogue.ts";
import { newId } from "../../domain/ids.ts";
import { type SubscriptionKey, whyNotSubscribed } from "../../domain/subscriptions.ts";
import { isoTime } from "../../domain/time.ts";
import type { subscriptionReads } from "../drizzle/subscriptions.ts";
import type { SubscribeResult, SubscriptionStore } from "../subscriptions.ts";
import type { Commit } from "./database/commit.ts";
import type { Snapshots } from "./database/snapshots.ts";
import type { StagedEvents } from "./deliveries/staged.ts";
import { tokens } from "./schema/access.ts";
import { placeholders } from "./schema/columns.ts";
import { eventTypes, subscriptionCounts, subscriptions } from "./schema/events.ts";
import { users } from "./schema/platform.ts";
import { readSubscriptionList } from "./subscription-list.ts";

export function subscriptionStore(
  orm: BunSQLiteDatabase,
  commit: Commit,
  records: ReturnType<typeof subscriptionReads> & Pick<SubscriptionStore, "remove">,
  staged: Pick<StagedEvents, "settle">,
  snapshots: Snapshots,
): SubscriptionStore {
  const kept = orm
    .select({ n: subscriptionCounts.subscriptions })
    .from(subscriptionCounts)
    .where(eq(subscriptionCounts.application_id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const count = (id: string) => kept.get({ id })?.n ?? 0;
  const subscribe = subscriber(orm, count);
  const token = orm
    .select({ expires_at: tokens.expires_at })
    .from(tokens)
    .where(eq(tokens.hash, sql.placeholder("hash")))
    .limit(1)
    .prepare();

  /** In the commit that creates, so that nothing is created after the token, its consent or its application ended. */
  const requireToken = (hash: Uint8Array) => {
    if (!token.get({ hash })) throw new DomainError("invalid_token", "The access token was revoked");
  };

  return {
    ...records,
    subscribe: (keys, limit, now, tokenHash = null) =>
      commit(() => {
        if (tokenHash) requireToken(tokenHash);
        return subscribe(keys, limit, isoTime(now));
      }),
    list: (applicationId, broadcasterId) =>
      snapshots.during((moment) => readSubscriptionList(moment, applicationId, broadcasterId)),
    async find(app_id, id) {
      await staged.settle();
      return records.find(app_id, id);
    },
    count: async (applicationId) => count(applicationId),
  };
}

/** As the index `subscriptions_key` says it. */
const broadcaster = sql`ifnull(${subscriptions.broadcaster_user_id}, 0)`;

/** Makes the function that gives the subscription of a key, or creates it; to be called within a commit. */
function subscriber(orm: BunSQLiteDatabase, count: (applicationId: string) => number) {
  const { id, app_id, event, version } = subscriptions;
  const existing = orm
    .select({ id })
    .from(subscriptions)
    .where(
      and(
        eq(app_id, sql.placeholder("app_id")),
        eq(broadcaster, sql.placeholder("broadcaster_user_id")),
        eq(event, sql.placeholder("event")),
        eq(version, sql.placeholder("version")),
      ),
    )
    .limit(1)
    .prepare();
  const user = orm
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const registered = orm
    .select({ name: eventTypes.name })
    .from(eventTypes)
    .where(
      and(eq(eventTypes.name, sql.placeholder("event")), eq(eventTypes.version, sql.placeholder("version"))),
    )
    .limit(1)
    .prepare();
  const isEvent = ({ event, version }: SubscriptionKey) =>
    findEventType(event, version) !== undefined || registered.get({ event, version }) !== undefined;
  const { sequence: _, ...columns } = placeholders(subscriptions);
  const insert = orm.insert(subscriptions).values(columns).prepare();

  return (keys: readonly SubscriptionKey[], limit: number, now: string): SubscribeResult[] => {
    // Looked up once: the keys of a request have them in common.
    const known = new Map<number, boolean>();
    const isKnown = (id: number): boolean => {
      const found = known.get(id) ?? user.get({ id }) !== undefined;
      known.set(id, found);
      return found;
    };
    const counts = new Map<string, number>();
    return keys.map((key) => {
      const found = existing.get({ ...key });
      if (found) return found;
      if (!isEvent(key)) return { error: whyNotSubscribed.unknownEvent };
      if (!isKnown(key.broadcaster_user_id)) {
        return { error: whyNotSubscribed.unknownBroadcaster(key.broadcaster_user_id) };
      }
      const used = counts.get(key.app_id) ?? count(key.app_id);
      if (used >= limit) return { error: whyNotSubscribed.limitReached(limit) };
      const id = newId();
      insert.run({ ...key, id, created_at: now, updated_at: now });
      counts.set(key.app_id, used + 1);
      return { id };
    });
  };
}
