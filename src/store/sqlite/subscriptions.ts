import type { Database } from "bun:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { OwnStatements } from "../drizzle/subscriptions.ts";
import type { SubscriptionList } from "../subscriptions.ts";
import type { Snapshots } from "./database/snapshots.ts";
import { subscriptionCounts } from "./schema/events.ts";

/** Makes the statements of subscriptions that are SQLite's own. */
export function subscriptionStatements(orm: BunSQLiteDatabase, snapshots: Snapshots): OwnStatements {
  const { application_id, subscriptions: n } = subscriptionCounts;
  return {
    list: (application, broadcaster) =>
      snapshots.during((moment) => readSubscriptionList(moment, application, broadcaster)),
    counted: (_, id) => orm.select({ n }).from(subscriptionCounts).where(eq(application_id, id)),
    // Without the name of the index SQLite reads the list of the application, from one that holds all of it.
    isOf: (applicationId, broadcasters) =>
      sql`rowid IN (SELECT rowid FROM subscriptions INDEXED BY subscriptions_key
        WHERE app_id = ${applicationId}
          AND ifnull(broadcaster_user_id, 0) IN (SELECT value FROM json_each(${JSON.stringify(broadcasters)})))`,
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

/**
 * The subscriptions of an application, or of these the ones with this broadcaster, on a connection on which nothing changes
 * meanwhile. SQLite makes their JSON, from an index that holds all that is shown; as objects ten thousand of them take twice
 * as long.
 */
async function readSubscriptionList(
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
