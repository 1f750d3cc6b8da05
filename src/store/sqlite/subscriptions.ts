import type { Database } from "bun:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { SubscriptionList } from "../../domain/subscriptions.ts";
import type { OwnStatements } from "../drizzle/subscriptions.ts";
import { subscriptionCounts } from "./schema.ts";
import type { Snapshots } from "./snapshots.ts";

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
