import { eq, gt, sql } from "drizzle-orm";
import { once } from "../../domain/lazily.ts";
import { type NewUser, refusedUsername } from "../../domain/users.ts";
import type { RemovedUser, UserStore } from "../users.ts";
import { keepBatch } from "./database/batch.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { cancelSubscriptions } from "./deliveries/cancel.ts";
import { excluded, given } from "./schema/columns.ts";
import { channels, users } from "./schema/platform.ts";
import { subscriptions } from "./schema/subscriptions.ts";
import { userSearch } from "./search.ts";

export function userStore(db: Postgres): UserStore {
  const { orm } = db;
  const byName = once(() =>
    orm
      .select()
      .from(users)
      .where(isNamed(sql.placeholder("username")))
      .prepare("user"),
  );

  /** Platforms report all users again every night, and nearly all are as they were: those are not written. */
  const put = ({ orm }: Queries, batch: readonly NewUser[], now: string) =>
    orm
      .insert(users)
      .select(
        sql`SELECT given.id, given.username, given.display_name, given.bio, given.profile_picture,
            given.followers_count, given.following_count, given.is_verified,
            coalesce(given.created_at, known.created_at, ${now})
          FROM ${given(users, batch)} LEFT JOIN ${users} AS known ON known.id = given.id ORDER BY given.n`,
      )
      .onConflictDoUpdate({
        target: users.id,
        set: excluded(users),
        setWhere: sql`${users} IS DISTINCT FROM excluded`,
      });

  const refusal = async (queries: Queries, { username }: NewUser) => {
    const [owner] = await queries.orm.select({ id: users.id }).from(users).where(isNamed(username));
    return owner ? `username "${username}" is taken by user ${owner.id}` : null;
  };

  const remove = (id: number, now: number) =>
    db.transact(async (transaction): Promise<RemovedUser> => {
      const { orm } = transaction;
      const gone = await orm.select({ id: channels.id }).from(channels).where(eq(channels.user_id, id));
      const ended = await orm
        .delete(subscriptions)
        .where(eq(subscriptions.broadcaster_user_id, id))
        .returning({ id: subscriptions.id, app_id: subscriptions.app_id });
      const ids = ended.map((one) => one.id);
      await cancelSubscriptions(transaction, ids, now);
      await orm.delete(users).where(eq(users.id, id)); // what refers to it goes with it
      const removed = [...Map.groupBy(ended, ({ app_id }) => app_id)].map(([application_id, some]) => ({
        application_id,
        ids: some.map((one) => one.id),
      }));
      return { channelIds: gone.map((channel) => channel.id), subscriptions: removed };
    });

  return {
    upsert: (batch, now, mode = {}) =>
      keepBatch(
        db,
        batch,
        mode,
        { put: (queries, items) => put(queries, items, now), refusal },
        ({ username }) => refusedUsername(username),
      ),
    find: async (username) => (await byName().execute({ username }))[0] ?? null,
    page: async (after, limit) =>
      orm.select().from(users).where(gt(users.id, after)).orderBy(users.id).limit(limit),
    remove,
    ...userSearch(db),
    exists: async (id) => (await orm.select({ id: users.id }).from(users).where(eq(users.id, id))).length > 0,
    count: async () => orm.$count(users),
  };
}

/** As the index `users_username` says it. */
const isNamed = (username: unknown) =>
  sql`lower(${users.username} COLLATE "C") = lower(${username} COLLATE "C")`;
