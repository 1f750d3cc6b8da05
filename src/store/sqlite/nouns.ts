import type { Database } from "bun:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Livestream, NewLivestream } from "../../domain/livestreams.ts";
import type { ReplayStore } from "../../domain/replays.ts";
import type { SubscriptionList } from "../../domain/subscriptions.ts";
import type { NewUser, User, UserStore } from "../../domain/users.ts";
import { once } from "../../runtime/lazily.ts";
import { isUndelivered } from "../drizzle/deliveries.ts";
import { columnsOf, type Dialect, excluded } from "../drizzle/dialect.ts";
import { maxRows, type ReplayRow, replayStore } from "../drizzle/replays.ts";
import type { OwnStatements } from "../drizzle/subscriptions.ts";
import { groupedReads, userRecords } from "../drizzle/users.ts";
import type { Commit } from "./commit.ts";
import { deliveryIndexes, deliveryLog } from "./deliveries.ts";
import { deliveryPositions, regionOf, regionSize } from "./delivery-rows.ts";
import { atOnce } from "./dialect.ts";
import { livestreams, placeholders, subscriptionCounts, users } from "./schema.ts";
import { type IndexChange, userSearch } from "./search.ts";
import type { Snapshots } from "./snapshots.ts";

/*
 * What users, livestreams, replays and subscriptions have of their own on SQLite. Their other statements are those of
 * `store/drizzle/`.
 */

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

const userNames = columnsOf(users).map(([name]) => name as keyof User);

function isSame(before: KeptUser, after: User): boolean {
  const { is_verified, ...kept } = before;
  const known: User = { ...kept, is_verified: is_verified === 1 };
  return userNames.every((name) => known[name] === after[name]);
}

/** Prepares the statements for livestreams that are specific to SQLite. */
export function livestreamStatements(db: Database, orm: BunSQLiteDatabase) {
  // The fast path: nearly all livestreams keep their category, so there is no foreign key to check and no index to
  // change. Raw SQL, because each livestream is reported every few seconds.
  const update = db.prepare(
    `UPDATE livestreams SET viewers = ?3, title = ?4, language = ?5, started_at = coalesce(?6, started_at)
     WHERE channel_id = ?1 AND category_id = ?2`,
  );
  const startedAt = sql.placeholder("started_at");
  const upsert = orm
    .insert(livestreams)
    .values({
      ...placeholders(livestreams),
      started_at: sql`coalesce(${startedAt}, ${sql.placeholder("now")})`,
    })
    .onConflictDoUpdate({
      target: livestreams.channel_id,
      set: { ...excluded(livestreams), started_at: sql`coalesce(${startedAt}, ${livestreams.started_at})` },
    })
    .prepare();

  return {
    put: (_: unknown, batch: readonly NewLivestream[], now: string) =>
      atOnce(() => {
        for (const stream of batch) {
          const { channel_id, category_id, viewers, title, language, started_at } = stream;
          const { changes } = update.run(channel_id, category_id, viewers, title, language, started_at);
          if (changes === 0) upsert.run({ ...stream, now });
        }
      }),
    // Raw SQL, because every start waits for it.
    all: async () => db.query<Livestream, []>("SELECT * FROM livestreams").all(),
  };
}

/** The most regions of the log that one step reads. */
const maxRegions = 256;

export function sqliteReplays(db: Database, orm: BunSQLiteDatabase, dialect: Dialect): ReplayStore {
  const log = deliveryLog(db, orm);
  const { last, since } = deliveryPositions(orm);
  const { inRegion, undelivered } = deliveryIndexes(db, "ASC");

  /** Returns candidates from the index, and the number from which the next step reads (`next`). */
  const ahead = ({ application_id, status, position, end }: ReplayRow) => {
    if (isUndelivered(status)) {
      const seqs = undelivered.all(application_id, position, end, maxRows).map(({ seq }) => seq);
      return { seqs, next: seqs.length < maxRows ? end : (seqs.at(-1) ?? 0) + 1 };
    }
    for (let regions = 0, at = regionOf(position); ; at++) {
      const seqs = inRegion.all(at, application_id, position, end, maxRows).map(({ seq }) => seq);
      const next = seqs.length < maxRows ? Math.min(end, (at + 1) * regionSize) : (seqs.at(-1) ?? 0) + 1;
      if (seqs.length > 0 || next >= end || ++regions >= maxRegions) return { seqs, next };
    }
  };

  const isWanted = (replay: ReplayRow, seq: number): boolean => {
    const broadcaster_user_id = replay.of_broadcaster ?? replay.broadcaster_user_id;
    return log.matches(seq, { ...replay, broadcaster_user_id });
  };

  return replayStore(dialect, {
    range: (_, from, to) =>
      atOnce(() => {
        const afterLast = last() + 1;
        return { first: Math.min(since(from), afterLast), end: Math.min(since(to), afterLast) };
      }),
    ahead: (_, replay) =>
      atOnce(() => {
        const { seqs, next } = ahead(replay);
        return { seqs: seqs.filter((seq) => isWanted(replay, seq)), next };
      }),
  });
}

/** Makes the statements for subscriptions that are specific to SQLite. */
export function subscriptionStatements(orm: BunSQLiteDatabase, snapshots: Snapshots): OwnStatements {
  const { application_id, subscriptions: n } = subscriptionCounts;
  return {
    list: (application, broadcaster) =>
      snapshots.during(application, (snapshot) => readSubscriptionList(snapshot, application, broadcaster)),
    counted: (_, id) => orm.select({ n }).from(subscriptionCounts).where(eq(application_id, id)),
    // Without INDEXED BY, SQLite reads all of the application's entries in `subscriptions_list`.
    isOf: (applicationId, broadcasters) =>
      sql`rowid IN (SELECT rowid FROM subscriptions INDEXED BY subscriptions_key
        WHERE app_id = ${applicationId}
          AND ifnull(broadcaster_user_id, 0) IN (SELECT value FROM json_each(${JSON.stringify(broadcasters)})))`,
  };
}

interface Slice {
  /** Records separated by commas; null for none. */
  readonly json: Uint8Array<ArrayBuffer> | null;
}
interface Count {
  readonly subscriptions: number;
}

/** The records of one slice. The event loop is blocked while one slice is read. */
const sliceSize = 1_000;

/** The JSON of a record. Faster than `json_object`. */
const record = `concat('{"id":"', id, '","app_id":"', app_id, '","broadcaster_user_id":',
  ifnull(broadcaster_user_id, 'null'), ',"event":', json_quote(event), ',"version":', version,
  ',"method":"webhook","created_at":"', created_at, '","updated_at":"', updated_at, '"}')`;

/** Sorts after every id. */
const afterAll = "~";
const fromAfter = "FROM subscriptions INDEXED BY subscriptions_list WHERE app_id = ? AND id > ?";
const endOfSlice = `SELECT id ${fromAfter} ORDER BY id LIMIT 1 OFFSET ${sliceSize - 1}`;
const sliceOfAll = `SELECT CAST(group_concat(${record}, ',') AS BLOB) AS json ${fromAfter} AND id <= ?`;
/** Not sliced, because a broadcaster has at most one subscription per event type and version. */
const allOfBroadcaster = `SELECT CAST(group_concat(${record}, ',' ORDER BY id) AS BLOB) AS json
  FROM subscriptions INDEXED BY subscriptions_key WHERE app_id = ? AND ifnull(broadcaster_user_id, 0) = ?`;

const keptCount = "SELECT subscriptions FROM subscription_counts WHERE application_id = ?";

/**
 * Reads a list on the connection of a snapshot. SQLite builds the JSON, from an index that covers all columns of it.
 */
async function readSubscriptionList(
  snapshot: Database,
  applicationId: string,
  broadcasterId: number | null,
): Promise<SubscriptionList> {
  const ofBroadcaster = snapshot.query<Slice, [string, number]>(allOfBroadcaster);
  const slices =
    broadcasterId === null
      ? await slicesOf(snapshot, applicationId)
      : [ofBroadcaster.get(applicationId, broadcasterId)?.json];
  const used = snapshot.query<Count, [string]>(keptCount).get(applicationId)?.subscriptions ?? 0;
  return { slices: slices.filter((slice) => slice != null), used };
}

/** Reads a list in slices. Yields to the event loop after each. */
async function slicesOf(snapshot: Database, applicationId: string) {
  const ends = snapshot.query<{ id: string }, [string, string]>(endOfSlice);
  const slice = snapshot.query<Slice, [string, string, string]>(sliceOfAll);
  const slices: (Slice["json"] | undefined)[] = [];
  for (let after = ""; ; await nextTurn()) {
    const end = ends.get(applicationId, after)?.id;
    slices.push(slice.get(applicationId, after, end ?? afterAll)?.json);
    if (end === undefined) return slices;
    after = end;
  }
}
