import type { Database } from "bun:sqlite";
import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { type NewUser, refusedUsername } from "../../domain/users.ts";
import type { Store } from "../store.ts";
import type { Commit } from "./commit.ts";
import { isUniqueViolation } from "./faults.ts";
import { users } from "./schema.ts";
import { userSearch } from "./search.ts";

export function userStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): Store["users"] {
  const search = userSearch(db);
  const byUsername = sql`${users.username} = ${sql.placeholder("username")} COLLATE NOCASE`;
  const find = orm.select().from(users).where(byUsername).limit(1).prepare();
  const byId = orm
    .select()
    .from(users)
    .where(eq(users.id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const upsert = orm
    .insert(users)
    .values({
      id: sql.placeholder("id"),
      username: sql.placeholder("username"),
      display_name: sql.placeholder("display_name"),
      bio: sql.placeholder("bio"),
      profile_picture: sql.placeholder("profile_picture"),
      followers_count: sql.placeholder("followers_count"),
      following_count: sql.placeholder("following_count"),
      is_verified: sql.placeholder("is_verified"),
      created_at: sql.placeholder("created_at"),
    })
    .onConflictDoUpdate({
      target: users.id,
      set: {
        username: sql`excluded.username`,
        display_name: sql`excluded.display_name`,
        bio: sql`excluded.bio`,
        profile_picture: sql`excluded.profile_picture`,
        followers_count: sql`excluded.followers_count`,
        following_count: sql`excluded.following_count`,
        is_verified: sql`excluded.is_verified`,
        created_at: sql`excluded.created_at`,
      },
    })
    .prepare();

  const keep = (user: NewUser, now: string): string | null => {
    const refused = refusedUsername(user.username);
    if (refused) return refused;
    const before = byId.get({ id: user.id }) ?? null;
    try {
      upsert.run({ ...user, created_at: user.created_at ?? before?.created_at ?? now });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      const owner = find.get({ username: user.username });
      return `username "${user.username}" is taken by user ${owner?.id}`;
    }
    search.update(before, user);
    return null;
  };

  return {
    upsert: (batch, now) => commit(() => batch.map((user) => keep(user, now))),
    find: async (username) => find.get({ username }) ?? null,
    search: async (query, limit) => search.find(query, limit),
    exists: async (id) => byId.get({ id }) !== undefined,
    count: async () => orm.$count(users),
  };
}
