import type { Database, SQLQueryBindings } from "bun:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { and, eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { DomainError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { SubscriptionKey } from "../../domain/subscriptions.ts";
import { isoTime } from "../../domain/time.ts";
import type { SubscribeResult, SubscriptionList, SubscriptionStore } from "../subscriptions.ts";
import { deliveryCanceler } from "./cancel.ts";
import type { Commit } from "./commit.ts";
import { subscriptions } from "./schema/events.ts";
import type { Snapshots } from "./snapshots.ts";

/** Creating and listing use statements of SQLite itself: through drizzle both would take several times as long. */
export function subscriptionStore(
  db: Database,
  orm: BunSQLiteDatabase,
  commit: Commit,
  snapshots: Snapshots,
): SubscriptionStore {
  const shown = {
    id: subscriptions.id,
    app_id: subscriptions.app_id,
    broadcaster_user_id: subscriptions.broadcaster_user_id,
    event: subscriptions.event,
    version: subscriptions.version,
    method: sql<"webhook">`'webhook'`,
    created_at: subscriptions.created_at,
    updated_at: subscriptions.updated_at,
  };
  const ofApplication = orm
    .select(shown)
    .from(subscriptions)
    .where(eq(subscriptions.app_id, sql.placeholder("app_id")))
    .orderBy(subscriptions.id)
    .prepare();
  const find = orm
    .select({ ...shown, sequence: subscriptions.sequence })
    .from(subscriptions)
    .where(
      and(eq(subscriptions.id, sql.placeholder("id")), eq(subscriptions.app_id, sql.placeholder("app_id"))),
    )
    .limit(1)
    .prepare();
  const existing = db.prepare<{ id: string }, [string, number | null, string, number]>(
    `SELECT id FROM subscriptions
     WHERE app_id = ? AND ifnull(broadcaster_user_id, 0) = ifnull(?, 0) AND event = ? AND version = ?`,
  );
  const userExists = db.prepare<{ id: number }, [number]>("SELECT id FROM users WHERE id = ?");
  const insert = db.prepare<null, [string, string, number | null, string, number, string]>(
    `INSERT INTO subscriptions (id, app_id, broadcaster_user_id, event, version, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`,
  );
  const kept = db.prepare<Count, [string]>(keptCount);
  const count = (applicationId: string) => kept.get(applicationId)?.subscriptions ?? 0;
  const remove = subscriptionRemover(db);
  const isGood = db.prepare<{ good: 1 }, [Uint8Array]>("SELECT 1 AS good FROM tokens WHERE hash = ?");

  /** In the commit that creates, so that nothing is created after the token, its consent or its application ended. */
  const requireToken = (hash: Uint8Array) => {
    if (isGood.get(hash)) return;
    throw new DomainError("invalid_token", "The access token was revoked");
  };

  const subscribe = (key: SubscriptionKey, limit: number, now: string): SubscribeResult => {
    const { app_id, broadcaster_user_id, event, version } = key;
    const found = existing.get(app_id, broadcaster_user_id, event, version);
    if (found) return found;
    if (broadcaster_user_id !== null && !userExists.get(broadcaster_user_id)) {
      return { error: `broadcaster_user_id ${broadcaster_user_id} is not a known user` };
    }
    if (count(app_id) >= limit) {
      return {
        error: `The limit of ${limit} subscriptions of this application is reached; delete some first`,
      };
    }
    const id = newId();
    insert.run(id, app_id, broadcaster_user_id, event, version, now);
    return { id };
  };

  return {
    subscribe: (keys, limit, now, token = null) =>
      commit(() => {
        if (token) requireToken(token);
        return keys.map((key) => subscribe(key, limit, isoTime(now)));
      }),
    ofApplication: async (app_id) => ofApplication.all({ app_id }),
    list: (applicationId, broadcasterId) =>
      snapshots.during((moment) => readList(moment, applicationId, broadcasterId)),
    find: async (app_id, id) => find.get({ app_id, id }) ?? null,
    count: async (applicationId) => count(applicationId),
    remove: (applicationId, ids, now, userId = null) =>
      commit(() => remove.byIds(applicationId, ids, userId, now)),
  };
}

interface Slice {
  /** Records with commas between them; null: none. */
  readonly json: Uint8Array<ArrayBuffer> | null;
}
interface Count {
  readonly subscriptions: number;
}

/** So many records of a list are read at once: half a millisecond. */
const sliceSize = 1_000;

/** What `json_object` would give, in two thirds of the time. */
const record = `concat('{"id":"', id, '","app_id":"', app_id, '","broadcaster_user_id":',
  ifnull(broadcaster_user_id, 'null'), ',"event":', json_quote(event), ',"version":', version,
  ',"method":"webhook","created_at":"', created_at, '","updated_at":"', updated_at, '"}')`;

/** Greater than every id. */
const behindAll = "~";
const behind = "FROM subscriptions INDEXED BY subscriptions_list WHERE app_id = ? AND id > ?";
const endOfSlice = `SELECT id ${behind} ORDER BY id LIMIT 1 OFFSET ${sliceSize - 1}`;
const sliceOfAll = `SELECT CAST(group_concat(${record}, ',') AS BLOB) AS json ${behind} AND id <= ?`;
/** Of one broadcaster there are no more than there are types of events. */
const allOfBroadcaster = `SELECT CAST(group_concat(${record}, ',' ORDER BY id) AS BLOB) AS json
  FROM subscriptions INDEXED BY subscriptions_key WHERE app_id = ? AND ifnull(broadcaster_user_id, 0) = ?`;

const keptCount = "SELECT subscriptions FROM subscription_counts WHERE application_id = ?";

async function readList(
  moment: Database,
  applicationId: string,
  broadcasterId: number | null,
): Promise<SubscriptionList> {
  const ofBroadcaster = moment.query<Slice, [string, number]>(allOfBroadcaster);
  const slices =
    broadcasterId === null
      ? await slicesOf(moment, applicationId)
      : [ofBroadcaster.get(applicationId, broadcasterId)?.json];
  const used = moment.query<Count, [string]>(keptCount).get(applicationId)?.subscriptions ?? 0;
  return { slices: slices.filter((slice) => slice != null), used };
}

/** A list in slices; others have their turns in between. */
async function slicesOf(moment: Database, applicationId: string) {
  const ends = moment.query<{ id: string }, [string, string]>(endOfSlice);
  const slice = moment.query<Slice, [string, string, string]>(sliceOfAll);
  const slices: (Slice["json"] | undefined)[] = [];
  for (let after = ""; ; await nextTurn()) {
    const end = ends.get(applicationId, after)?.id;
    slices.push(slice.get(applicationId, after, end ?? behindAll)?.json);
    if (end === undefined) return slices;
    after = end;
  }
}

/**
 * Removes subscriptions of an application: these ids, of a user only those whose broadcaster that is, or all of a
 * broadcaster; gives the ids that were removed. Cancels their deliveries that are in the store; to be called within a
 * commit.
 */
export function subscriptionRemover(db: Database) {
  const cancel = deliveryCanceler(db);
  const removal = <T extends SQLQueryBindings[]>(which: string) =>
    db.prepare<{ id: string }, [string, ...T]>(
      `DELETE FROM subscriptions WHERE app_id = ?1 AND ${which} RETURNING id`,
    );
  const byIds = removal<[string, number | null]>(
    "id IN (SELECT value FROM json_each(?2)) AND (?3 IS NULL OR broadcaster_user_id = ?3)",
  );
  const byBroadcaster = removal<[number]>("ifnull(broadcaster_user_id, 0) = ?2");
  const canceled = (applicationId: string, removed: readonly { readonly id: string }[], now: number) => {
    const ids = removed.map(({ id }) => id);
    cancel.ofSubscriptions(applicationId, ids, now);
    return ids;
  };
  return {
    byIds(applicationId: string, ids: readonly string[], userId: number | null, now: number): string[] {
      return canceled(applicationId, byIds.all(applicationId, JSON.stringify(ids), userId), now);
    },
    ofBroadcaster(applicationId: string, userId: number, now: number): string[] {
      return canceled(applicationId, byBroadcaster.all(applicationId, userId), now);
    },
  };
}
