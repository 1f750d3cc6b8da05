import { and, count, eq } from "drizzle-orm";
import type { OwnStatements } from "../drizzle/subscriptions.ts";
import type { SubscriptionList } from "../subscriptions.ts";
import type { Queries } from "./database/pool.ts";
import { isOneOf } from "./schema/columns.ts";
import { subscriptions } from "./schema/subscriptions.ts";

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
