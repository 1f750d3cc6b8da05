import type { Database } from "bun:sqlite";
import { sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { NewUser, User, UserStore } from "../../domain/users.ts";
import { once } from "../../runtime/lazily.ts";
import { type Dialect, excluded } from "../drizzle/dialect.ts";
import { userRecords } from "../drizzle/users.ts";
import { groupedReads } from "../grouped-reads.ts";
import type { Commit } from "./commit.ts";
import { atOnce } from "./dialect.ts";
import { placeholders, users } from "./schema.ts";
import { type IndexChange, userSearch } from "./search.ts";

export function userStore(db: Database, orm: BunSQLiteDatabase, commit: Commit, dialect: Dialect): UserStore {
  const search = once(() => userSearch(db));
  const byName = db.prepare<KeptUser, [string]>("SELECT * FROM users WHERE username = ? COLLATE NOCASE");
  const byId = db.prepare<KeptUser, [number]>("SELECT * FROM users WHERE id = ?");
  const inSnapshot = db.transaction((usernames: readonly string[]) => {
    const rows = new Map<string, User>();
    for (const username of usernames) {
      const row = byName.get(username);
      if (row) rows.set(username, { ...row, is_verified: row.is_verified === 1 });
    }
    return rows;
  });
  const find = groupedReads(async (usernames) => inSnapshot.deferred(usernames));
  const put = orm
    .insert(users)
    .values(placeholders(users))
    .onConflictDoUpdate({ target: users.id, set: excluded(users) })
    .prepare();

  /** Collects the changes of the search index, which is updated at the end of the batch. */
  const putting = (now: string) => {
    const changes = new Map<number, IndexChange>();
    const putOne = (user: NewUser) => {
      const before = byId.get(user.id);
      const after = { ...user, created_at: user.created_at ?? before?.created_at ?? now };
      // Platforms report all users again every night, most of them unchanged.
      if (before && isSame(before, after)) return;
      put.run(after);
      const indexed = changes.get(user.id);
      changes.set(user.id, { before: indexed ? indexed.before : before, after });
    };
    return {
      put: (_: unknown, batch: readonly NewUser[]) => atOnce(() => batch.forEach(putOne)),
      renaming(id: number) {
        const before = byId.get(id);
        if (before) changes.set(id, { before, after: before });
      },
      finish: () => atOnce(() => search().update(changes.values())),
    };
  };

  const unindex = (id: number) => {
    const user = byId.get(id);
    if (user) search().remove(user);
  };

  return {
    ...userRecords(dialect, {
      putting,
      isNamed: (username) => sql`${users.username} = ${username} COLLATE NOCASE`,
      unindex: (_, id) => atOnce(() => unindex(id)),
    }),
    find,
    search: async (query, limit) => search().find(query, limit),
    tidySearch: () => commit(() => search().tidy()),
  };
}

/** A row as SQLite returns it. */
type KeptUser = Omit<User, "is_verified"> & { readonly is_verified: 0 | 1 };

function isSame(before: KeptUser, after: User): boolean {
  return (
    before.username === after.username &&
    before.display_name === after.display_name &&
    before.bio === after.bio &&
    before.profile_picture === after.profile_picture &&
    before.followers_count === after.followers_count &&
    before.following_count === after.following_count &&
    (before.is_verified === 1) === after.is_verified &&
    before.created_at === after.created_at
  );
}
