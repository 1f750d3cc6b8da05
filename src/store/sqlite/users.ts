import type { Database } from "bun:sqlite";
import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { type NewUser, refusedUsername, type User } from "../../domain/users.ts";
import { once } from "../../lazily.ts";
import { givingUp, nameInBetween } from "../batch.ts";
import { excluded } from "../drizzle/columns/of-table.ts";
import type { Dialect } from "../drizzle/dialect.ts";
import type { CancelSubscriptions } from "../drizzle/subscriptions.ts";
import { userRecords } from "../drizzle/users.ts";
import { gathered } from "../rows/gathered.ts";
import type { UserStore } from "../users.ts";
import { type Commit, commitBatch } from "./database/commit.ts";
import { atOnce } from "./database/dialect.ts";
import { isUniqueViolation } from "./database/faults.ts";
import { placeholders } from "./schema/columns.ts";
import { users } from "./schema/platform.ts";
import { type IndexChange, userSearch } from "./search/search.ts";

export function userStore(
  db: Database,
  orm: BunSQLiteDatabase,
  commit: Commit,
  shared: Dialect,
  cancel: CancelSubscriptions,
): UserStore {
  const search = once(() => userSearch(db));
  const byName = db.prepare<KeptUser, [string]>("SELECT * FROM users WHERE username = ? COLLATE NOCASE");
  const byId = db.prepare<KeptUser, [number]>("SELECT * FROM users WHERE id = ?");
  const inSnapshot = db.transaction((usernames: readonly string[]) => {
    const rows = new Map<string, KeptUser>();
    for (const username of usernames) {
      const row = byName.get(username);
      if (row) rows.set(username, row);
    }
    return rows;
  });
  const found = gathered(async (usernames) => inSnapshot.deferred(usernames));
  const put = orm
    .insert(users)
    .values(placeholders(users))
    .onConflictDoUpdate({ target: users.id, set: excluded(users) })
    .prepare();

  const rename = orm
    .update(users)
    .set({ username: sql`${sql.placeholder("username")}` })
    .where(eq(users.id, sql.placeholder("id")))
    .prepare();

  /** Keeps a user and notes what changes in the search index, or says why it is refused. */
  const keep = (user: NewUser, now: string, changes: Map<number, IndexChange>): string | null => {
    const refused = refusedUsername(user.username);
    if (refused) return refused;
    const before = byId.get(user.id);
    const after = { ...user, created_at: user.created_at ?? before?.created_at ?? now };
    // Platforms report all users again every night, and nearly all are as they were.
    if (before && isSame(before, after)) return null;
    try {
      put.run(after);
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      const owner = byName.get(user.username);
      return `username "${user.username}" is taken by user ${owner?.id}`;
    }
    const indexed = changes.get(user.id);
    changes.set(user.id, { before: indexed ? indexed.before : before, after });
    return null;
  };

  /** Before an atomic batch: takes their names from users of it who leave them to others of it. */
  const freeNames = (batch: readonly NewUser[], changes: Map<number, IndexChange>) => {
    const known = batch.map(({ id }) => byId.get(id)).filter((user) => user !== null);
    for (const id of givingUp(known.map(named), batch.map(named))) {
      const before = byId.get(id);
      if (before) changes.set(id, { before, after: before });
      rename.run({ id, username: nameInBetween(id) });
    }
  };

  const keepAll = (batch: readonly NewUser[], now: string, isAtomic: boolean) => {
    const changes = new Map<number, IndexChange>();
    if (isAtomic) freeNames(batch, changes);
    const results = batch.map((user) => keep(user, now, changes));
    search().update(changes.values());
    return results;
  };

  const unindex = (id: number) => {
    const user = byId.get(id);
    if (user) search().remove(user);
  };

  return {
    ...userRecords(shared, cancel, (_, id) => atOnce(() => unindex(id))),
    upsert: (batch, now, mode = {}) =>
      commitBatch(commit, mode, () => keepAll(batch, now, mode.atomic === true)),
    async find(username) {
      const row = await found(username);
      return row && { ...row, is_verified: row.is_verified === 1 };
    },
    search: async (query, limit) => search().find(query, limit),
    tidySearch: () => commit(() => search().tidy()),
  };
}

/** A row as SQLite gives it. */
type KeptUser = Omit<User, "is_verified"> & { readonly is_verified: 0 | 1 };

const named = ({ id, username }: Pick<User, "id" | "username">) => {
  return { id, name: username.toLowerCase() };
};

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
