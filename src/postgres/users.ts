import { getTableColumns, sql } from "drizzle-orm";
import type { NewUser, UserStore } from "../domain/users.ts";
import { once } from "../runtime/lazily.ts";
import { type Dialect, execute, type Orm, type Work } from "../store/drizzle/dialect.ts";
import { lower, userRecords } from "../store/drizzle/users.ts";
import { groupedReads } from "../store/grouped-reads.ts";
import { passedRows } from "./columns.ts";
import type { Postgres } from "./pool.ts";
import { users } from "./schema.ts";
import { foldedNames, termsOf, userSearch } from "./search.ts";

const { folded: _, ...columns } = getTableColumns(users);

export function userStore(db: Postgres, dialect: Dialect): UserStore {
  const { orm } = db;
  const byNames = once(() =>
    orm
      .select(columns)
      .from(users)
      .where(sql`lower(${users.username} COLLATE "C") = ANY(${sql.placeholder("usernames")}::text[])`)
      .prepare("users"),
  );
  const byName = groupedReads(async (usernames) => {
    const found = await byNames().execute({ usernames });
    return new Map(found.map((user) => [lower(user.username), user]));
  });

  return {
    ...userRecords(dialect, {
      putting: (now) => ({ put: (orm, batch) => putUsers(orm, batch, now) }),
      // The expression of the index `users_username`.
      isNamed: (username) => sql`lower(${users.username} COLLATE "C") = lower(${username} COLLATE "C")`,
      // The row in `user_search` is removed by cascade.
      *unindex() {},
    }),
    find: (username) => byName(lower(username)),
    ...userSearch(db),
  };
}

/**
 * Stores users with their search terms. Raw SQL, because drizzle has no statement that writes to two tables. Platforms
 * report all users again every night, most of them unchanged; unchanged rows are not written.
 */
export function* putUsers(orm: Orm, batch: readonly NewUser[], now: string): Work<void> {
  const rows = batch.map((user) => ({ ...user, folded: foldedNames(user) }));
  const terms = sql.param(rows.map(({ folded }) => `{${termsOf(folded)}}`));
  yield* execute(
    orm.execute(sql`
WITH given AS MATERIALIZED (
  SELECT given.*, t.terms
  FROM ${passedRows(users, rows)} JOIN unnest(${terms}::text[]) WITH ORDINALITY AS t(terms, n) USING (n)
), put AS (
  INSERT INTO users (id, username, display_name, bio, profile_picture, followers_count, following_count, is_verified,
    created_at, folded)
  SELECT given.id, given.username, given.display_name, given.bio, given.profile_picture, given.followers_count,
    given.following_count, given.is_verified, coalesce(given.created_at, known.created_at, ${now}), given.folded
  FROM given LEFT JOIN users AS known ON known.id = given.id ORDER BY given.n
  ON CONFLICT (id) DO UPDATE SET username = excluded.username, display_name = excluded.display_name,
    bio = excluded.bio, profile_picture = excluded.profile_picture, followers_count = excluded.followers_count,
    following_count = excluded.following_count, is_verified = excluded.is_verified,
    created_at = excluded.created_at, folded = excluded.folded
  WHERE users IS DISTINCT FROM excluded
)
INSERT INTO user_search (user_id, terms, popularity)
SELECT id, terms::int4[], onair_popularity(followers_count) FROM given ORDER BY n
ON CONFLICT (user_id) DO UPDATE SET terms = excluded.terms, popularity = excluded.popularity
WHERE user_search IS DISTINCT FROM excluded`),
  );
}
