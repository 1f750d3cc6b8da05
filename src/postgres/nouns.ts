import { and, count, eq, getTableColumns, gt, gte, inArray, lt, sql } from "drizzle-orm";
import { statusesIn } from "../domain/deliveries.ts";
import type { NewLivestream } from "../domain/livestreams.ts";
import type { ReplayStore } from "../domain/replays.ts";
import type { OrderStore } from "../domain/replicas.ts";
import type { SubscriptionList } from "../domain/subscriptions.ts";
import type { NewUser, UserStore } from "../domain/users.ts";
import { once } from "../runtime/lazily.ts";
import { isUndelivered } from "../store/drizzle/deliveries.ts";
import { columnsOf, type Dialect, excluded, execute, type Orm, type Work } from "../store/drizzle/dialect.ts";
import { maxRows, replayStore } from "../store/drizzle/replays.ts";
import type { OwnStatements } from "../store/drizzle/subscriptions.ts";
import { groupedReads, lower, userRecords } from "../store/drizzle/users.ts";
import { isOneOf, passedRows } from "./dialect.ts";
import type { Postgres, Queries } from "./pool.ts";
import { deliveryPositions } from "./positions.ts";
import { deliveries, livestreams, categoryOrders as orders, subscriptions, users } from "./schema.ts";
import { foldedNames, termsOf, userSearch } from "./search.ts";

/*
 * What users, livestreams, category orders, replays and subscriptions have of their own on PostgreSQL. Their other
 * statements are those of `store/drizzle/`.
 */

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

const userNames = columnsOf(users).map(([name]) => name);
/**
 * Without the id: a statement that sets it, even to the same value, locks the user against all rows that refer to it,
 * such as new subscriptions.
 */
const changingNames = userNames.filter((name) => name !== "id");

/**
 * Stores users with their search terms. Raw SQL, because drizzle has no statement that writes to two tables. Platforms
 * report all users again every night, most of them unchanged; unchanged rows are not written.
 */
export function* putUsers(orm: Orm, batch: readonly NewUser[], now: string): Work<void> {
  const rows = batch.map((user) => ({ ...user, folded: foldedNames(user) }));
  const values = userNames.map((name) =>
    name === "created_at"
      ? sql`coalesce(given.created_at, known.created_at, ${now})`
      : sql.raw(`given.${name}`),
  );
  const terms = sql.param(rows.map(({ folded }) => `{${termsOf(folded)}}`));
  yield* execute(
    orm.execute(sql`
WITH given AS MATERIALIZED (
  SELECT given.*, t.terms
  FROM ${passedRows(users, rows)} JOIN unnest(${terms}::text[]) WITH ORDINALITY AS t(terms, n) USING (n)
), put AS (
  INSERT INTO users (${sql.raw(userNames.join())})
  SELECT ${sql.join(values, sql`, `)} FROM given LEFT JOIN users AS known ON known.id = given.id ORDER BY given.n
  ON CONFLICT (id) DO UPDATE SET ${sql.raw(changingNames.map((name) => `${name} = excluded.${name}`).join())}
  WHERE users IS DISTINCT FROM excluded
)
INSERT INTO user_search (user_id, terms, popularity)
SELECT id, terms::int4[], onair_popularity(followers_count) FROM given ORDER BY n
ON CONFLICT (user_id) DO UPDATE SET terms = excluded.terms, popularity = excluded.popularity
WHERE user_search IS DISTINCT FROM excluded`),
  );
}

/** Stores livestreams with one statement. Unchanged ones are not written. */
export function* putLivestreams(orm: Orm, batch: readonly NewLivestream[], now: string): Work<void> {
  yield* execute(
    orm
      .insert(livestreams)
      .select(
        sql`SELECT given.channel_id, given.category_id, given.viewers, given.title, given.language,
            coalesce(given.started_at, known.started_at, ${now})
          FROM ${passedRows(livestreams, batch)}
          LEFT JOIN ${livestreams} AS known ON known.channel_id = given.channel_id ORDER BY given.n`,
      )
      .onConflictDoUpdate({
        target: livestreams.channel_id,
        set: excluded(livestreams),
        setWhere: sql`${livestreams} IS DISTINCT FROM excluded`,
      }),
  );
}

export function orderStore({ orm }: Postgres): OrderStore {
  return {
    async keep(taken_at, content, used_at) {
      await orm
        .insert(orders)
        .values({ taken_at, content: Buffer.from(content), used_at })
        .onConflictDoUpdate({
          target: orders.taken_at,
          set: { used_at: sql`greatest(${orders.used_at}, excluded.used_at)` },
        });
    },
    async find(takenAt) {
      const [found] = await orm
        .select({ content: orders.content })
        .from(orders)
        .where(eq(orders.taken_at, takenAt));
      return found?.content ?? null;
    },
    async prune(before) {
      await orm.delete(orders).where(lt(orders.used_at, before));
      return true;
    },
  };
}

const { seq, application_id, broadcaster_user_id, subscription_id, type, status, published_at, attempts } =
  deliveries;

export const postgresReplays = (dialect: Dialect): ReplayStore =>
  replayStore(dialect, {
    *range(orm, from, to) {
      const positions = deliveryPositions({ orm });
      const afterLast = (yield* execute(positions.last())) + 1;
      const range = yield* execute(positions.between(from, to));
      const end = Math.min(range.to ?? afterLast, afterLast);
      return { first: Math.min(range.from, end), end };
    },
    *ahead(orm, replay) {
      const wanted = replay.status;
      const broadcaster = replay.of_broadcaster ?? replay.broadcaster_user_id;
      // Literals, because a parameter would not match the partial index.
      const hasEnded = sql`${status} IN ('failed', 'expired', 'canceled')`;
      const isNext = and(
        eq(application_id, replay.application_id),
        gte(seq, replay.position),
        lt(seq, replay.end),
        isUndelivered(wanted) ? hasEnded : undefined,
      );
      const isSubscribed = sql`(SELECT count(*) > 0 FROM subscriptions s WHERE s.id = ${subscription_id})`;
      const shownStatus = sql`CASE WHEN ${status} <> 'pending' OR ${isSubscribed} THEN ${status} ELSE 'canceled' END`;
      const isWanted = and(
        gte(published_at, replay.from_at),
        lt(published_at, replay.to_at),
        replay.subscription_id === null ? undefined : eq(subscription_id, replay.subscription_id),
        replay.type === null ? undefined : eq(type, replay.type),
        broadcaster === null ? undefined : eq(broadcaster_user_id, broadcaster),
        wanted === null ? undefined : inArray(shownStatus, [...statusesIn(wanted)]),
        wanted === "missed" ? isSubscribed : undefined,
        wanted === "failing" ? gt(attempts, 0) : undefined,
      );
      const next = orm.select({ seq, isWanted: sql<boolean>`${isWanted}` }).from(deliveries);
      const looked = yield* execute(next.where(isNext).orderBy(seq).limit(maxRows));
      return {
        seqs: looked.filter((one) => one.isWanted).map((one) => one.seq),
        next: looked.length < maxRows ? replay.end : (looked.at(-1)?.seq ?? 0) + 1,
      };
    },
  });

/** Makes the statements for subscriptions that are specific to PostgreSQL. */
export const subscriptionStatements = (queries: Queries): OwnStatements => ({
  list: (application, broadcaster) => readSubscriptionList(queries, application, broadcaster),
  counted: (orm, id) => orm.select({ n: count() }).from(subscriptions).where(eq(subscriptions.app_id, id)),
  isOf: (applicationId, broadcasters) =>
    and(eq(subscriptions.app_id, applicationId), isOneOf(subscriptions.broadcaster_user_id, broadcasters)),
});

const sliceSize = 1_000;

/** PostgreSQL builds the JSON, which is faster than building objects. One statement reads one snapshot. */
const statement = `
WITH record AS (
  SELECT (row_number() OVER (ORDER BY id) - 1) / ${sliceSize} AS slice, id,
    concat('{"id":"', id, '","app_id":"', app_id, '","broadcaster_user_id":', coalesce(broadcaster_user_id::text, 'null'),
      ',"event":', to_json(event), ',"version":', version, ',"method":"webhook","created_at":"', created_at,
      '","updated_at":"', updated_at, '"}') AS json
  FROM subscriptions WHERE app_id = $1 AND ($2::bigint IS NULL OR broadcaster_user_id = $2)
)
SELECT count(*)::float8 AS used, NULL AS json FROM subscriptions WHERE app_id = $1
UNION ALL
(SELECT 0, string_agg(json, ',' ORDER BY id) FROM record GROUP BY slice ORDER BY slice)`;

/** Reads the subscriptions of an application, or those with one broadcaster. */
async function readSubscriptionList(
  { run }: Queries,
  applicationId: string,
  broadcasterId: number | null,
): Promise<SubscriptionList> {
  const [first, ...slices] = await run<{ used: number; json: string | null }>(statement, [
    applicationId,
    broadcasterId,
  ]);
  return {
    used: first?.used ?? 0,
    slices: slices.map(({ json }) => new TextEncoder().encode(json ?? "")),
  };
}
