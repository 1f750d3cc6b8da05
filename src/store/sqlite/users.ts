import type { Database } from "bun:sqlite";
import { eq, gt, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { once } from "../../domain/lazily.ts";
import { type NewUser, refusedUsername, type User } from "../../domain/users.ts";
import type { RemovedUser, UserStore } from "../users.ts";
import { deliveryCanceler } from "./cancel.ts";
import { type Commit, commitBatch } from "./commit.ts";
import { isUniqueViolation } from "./faults.ts";
import { subscriptions } from "./schema/events.ts";
import { channels, users } from "./schema/platform.ts";
import { type IndexChange, userSearch } from "./search.ts";

type Row = Omit<User, "is_verified"> & { readonly is_verified: number };

/**
 * Writing uses statements of SQLite itself: through drizzle a row costs 20 µs more, a third of the whole time.
 */
export function userStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): UserStore {
  const search = once(() => userSearch(db));
  const byName = orm
    .select()
    .from(users)
    .where(sql`${users.username} = ${sql.placeholder("username")} COLLATE NOCASE`)
    .limit(1)
    .prepare();
  const cancel = once(() => deliveryCanceler(db));
  const byUsername = db.prepare<Row, [string]>("SELECT * FROM users WHERE username = ? COLLATE NOCASE");
  const byId = db.prepare<Row, [number]>("SELECT * FROM users WHERE id = ?");
  const put = db.prepare(
    `INSERT INTO users (id, username, display_name, bio, profile_picture, followers_count, following_count,
       is_verified, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET
       username = excluded.username, display_name = excluded.display_name, bio = excluded.bio,
       profile_picture = excluded.profile_picture, followers_count = excluded.followers_count,
       following_count = excluded.following_count, is_verified = excluded.is_verified,
       created_at = excluded.created_at`,
  );

  /** Keeps a user and notes what changes in the search index, or says why it is refused. */
  const keep = (user: NewUser, now: string, changes: Map<number, IndexChange>): string | null => {
    const refused = refusedUsername(user.username);
    if (refused) return refused;
    const before = byId.get(user.id);
    const createdAt = user.created_at ?? before?.created_at ?? now;
    // Platforms report everybody again every night, and nearly all are as they were.
    if (before && isSame(before, user) && before.created_at === createdAt) return null;
    try {
      put.run(
        user.id,
        user.username,
        user.display_name,
        user.bio,
        user.profile_picture,
        user.followers_count,
        user.following_count,
        user.is_verified ? 1 : 0,
        createdAt,
      );
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      const owner = byUsername.get(user.username);
      return `username "${user.username}" is taken by user ${owner?.id}`;
    }
    const indexed = changes.get(user.id);
    changes.set(user.id, { before: indexed ? indexed.before : before, after: user });
    return null;
  };

  const keepAll = (batch: readonly NewUser[], now: string) => {
    const changes = new Map<number, IndexChange>();
    const results = batch.map((user) => keep(user, now, changes));
    search().update(changes.values());
    return results;
  };

  const remove = (id: number, now: number): RemovedUser => {
    const user = byId.get(id);
    if (!user) return { channelIds: [], subscriptions: [] };
    const ended = orm
      .delete(subscriptions)
      .where(eq(subscriptions.broadcaster_user_id, id))
      .returning({ id: subscriptions.id, app_id: subscriptions.app_id })
      .all();
    const removed = [...Map.groupBy(ended, ({ app_id }) => app_id)].map(([application_id, some]) => ({
      application_id,
      ids: some.map((one) => one.id),
    }));
    for (const { application_id, ids } of removed) cancel().ofSubscriptions(application_id, ids, now);
    cancel().handedOut(
      ended.map((one) => one.id),
      now,
    );
    const gone = orm.select({ id: channels.id }).from(channels).where(eq(channels.user_id, id)).all();
    search().remove(user);
    orm.delete(users).where(eq(users.id, id)).run(); // what refers to it goes with it
    return { channelIds: gone.map((channel) => channel.id), subscriptions: removed };
  };

  return {
    upsert: (batch, now, mode = {}) => commitBatch(commit, mode, () => keepAll(batch, now)),
    find: async (username) => byName.get({ username }) ?? null,
    page: async (after, limit) =>
      orm.select().from(users).where(gt(users.id, after)).orderBy(users.id).limit(limit).all(),
    remove: (id, now) => commit(() => remove(id, now)),
    search: async (query, limit) => search().find(query, limit),
    tidySearch: () => commit(() => search().tidy()),
    exists: async (id) => byId.get(id) !== null,
    count: async () => orm.$count(users),
  };
}

function isSame(row: Row, user: NewUser): boolean {
  return (
    row.username === user.username &&
    row.display_name === user.display_name &&
    row.bio === user.bio &&
    row.profile_picture === user.profile_picture &&
    row.followers_count === user.followers_count &&
    row.following_count === user.following_count &&
    (row.is_verified === 1) === user.is_verified
  );
}
