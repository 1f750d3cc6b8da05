import { eq, getTableColumns, sql } from "drizzle-orm";
import { type NewUser, refusedUsername } from "../../domain/users.ts";
import { once } from "../../lazily.ts";
import { givingUp, nameInBetween } from "../batch.ts";
import type { Dialect } from "../drizzle/dialect.ts";
import { userRecords } from "../drizzle/users.ts";
import { gathered } from "../rows/gathered.ts";
import type { UserStore } from "../users.ts";
import { keepBatch } from "./database/batch.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { cancelRemoved } from "./deliveries/cancel.ts";
import { isOneOf } from "./schema/columns.ts";
import { users } from "./schema/platform.ts";
import { userSearch } from "./search/search.ts";
import { foldedNames, termsOf } from "./search/terms.ts";

const { folded: _, ...shown } = getTableColumns(users);

export function userStore(db: Postgres, shared: Dialect): UserStore {
  const { orm } = db;
  const byNames = once(() =>
    orm
      .select(shown)
      .from(users)
      .where(sql`lower(${users.username} COLLATE "C") = ANY(${sql.placeholder("usernames")}::text[])`)
      .prepare("users"),
  );
  const byName = gathered(async (usernames) => {
    const found = await byNames().execute({ usernames });
    return new Map(found.map((user) => [lower(user.username), user]));
  });

  const put = async ({ run }: Queries, batch: readonly NewUser[], now: string) => {
    const column = <Name extends keyof NewUser>(name: Name) => batch.map((user) => user[name]);
    const folded = batch.map(foldedNames);
    const terms = folded.map((names) => `{${termsOf(names)}}`);
    const counts = [column("followers_count"), column("following_count")];
    const names = [column("id"), column("username"), column("display_name"), column("bio")];
    const others = [column("profile_picture"), ...counts, column("is_verified"), column("created_at")];
    await run(putUsers, [...names, ...others, folded, terms, now]);
  };

  /** Before an atomic batch: takes their names from users of it who leave them to others of it. */
  const freeNames = async ({ orm }: Queries, batch: readonly NewUser[]) => {
    const ids = batch.map(({ id }) => id);
    const known = await orm
      .select({ id: users.id, username: users.username })
      .from(users)
      .where(isOneOf(users.id, ids));
    for (const id of givingUp(known.map(named), batch.map(named)))
      await orm
        .update(users)
        .set({ username: nameInBetween(id) })
        .where(eq(users.id, id));
  };

  const refusal = async (queries: Queries, { username }: NewUser) => {
    const [owner] = await queries.orm.select({ id: users.id }).from(users).where(isNamed(username));
    return owner ? `username "${username}" is taken by user ${owner.id}` : null;
  };

  return {
    // What the search knows of a user goes with its row.
    ...userRecords(shared, cancelRemoved, function* () {}),
    upsert: (batch, now, mode = {}) =>
      keepBatch(
        db,
        batch,
        mode,
        { begin: freeNames, put: (queries, items) => put(queries, items, now), refusal },
        ({ username }) => refusedUsername(username),
      ),
    find: (username) => byName(lower(username)),
    ...userSearch(db),
  };
}

/**
 * Users with the terms by which the search finds them: a statement of PostgreSQL itself, because drizzle has none that
 * writes to two tables. Platforms report all users again every night, and nearly all are as they were: those are not
 * written.
 */
const putUsers = `
WITH given AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
    $8::boolean[], $9::text[], $10::text[], $11::text[]) WITH ORDINALITY
    AS given(id, username, display_name, bio, profile_picture, followers_count, following_count, is_verified,
      created_at, folded, terms, n)
), put AS (
  INSERT INTO users (id, username, display_name, bio, profile_picture, followers_count, following_count, is_verified,
    created_at, folded)
  SELECT given.id, given.username, given.display_name, given.bio, given.profile_picture, given.followers_count,
    given.following_count, given.is_verified, coalesce(given.created_at, known.created_at, $12), given.folded
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
WHERE user_search IS DISTINCT FROM excluded`;

/** Of ASCII alone: there are other characters with an ASCII letter as their lower case. */
const lower = (username: string) => username.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

const named = ({ id, username }: { readonly id: number; readonly username: string }) => {
  return { id, name: lower(username) };
};

/** As the index `users_username` says it. */
const isNamed = (username: unknown) =>
  sql`lower(${users.username} COLLATE "C") = lower(${username} COLLATE "C")`;
