import { mostPendingCounted } from "../domain/deliveries.ts";
import { type DatabaseFacts, type KindSizes, kindSizes } from "../domain/sizes.ts";
import { heldSetting } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import type { WritableHost } from "../store/data-storage.ts";
import { type ConnectionSettings, hostsOf, shownHost } from "../store/location.ts";
import { openPool, type Queries } from "./pool.ts";

const statement = `
WITH pending AS (SELECT published_at FROM deliveries WHERE status = 'pending' LIMIT ${mostPendingCounted}),
unwell AS (SELECT application_id, disabled_at FROM endpoints
  WHERE disabled_at IS NOT NULL OR failing_since IS NOT NULL ORDER BY disabled_at DESC NULLS LAST)
SELECT current_setting('server_version') AS version,
  (SELECT count(*) FROM users)::float8 AS users, (SELECT count(*) FROM user_search)::float8 AS "indexedUsers",
  (SELECT value FROM settings WHERE key = 'signing_key') AS "signingKey",
  (SELECT value FROM settings WHERE key = '${heldSetting}') AS "heldSince",
  (SELECT max(at) FROM delivery_times)::float8 AS "newestEventAt",
  (SELECT count(*) - count(disabled_at) FROM unwell)::float8 AS "failingEndpoints",
  (SELECT count(disabled_at) FROM unwell)::float8 AS "disabledEndpoints",
  ARRAY(SELECT application_id FROM unwell LIMIT 5) AS "unwellApplications",
  (SELECT count(*) FROM pending)::float8 AS pending,
  (SELECT count(*) = ${mostPendingCounted} FROM pending) AS "isPendingPartial",
  (SELECT min(published_at) FROM pending)::float8 AS "oldestPendingAt"`;

interface PostgresFacts extends DatabaseFacts {
  readonly version: string;
}

/** Reads the facts of a database with the current schema. */
export async function postgresFacts(queries: Queries): Promise<PostgresFacts> {
  const [facts] = await queries.run<PostgresFacts>(statement);
  if (!facts) throw new Error("The database returned no facts");
  return facts;
}

/** Returns the bytes used by each kind of data. Partitions count as their table. */
export async function sizesByKind(queries: Queries): Promise<KindSizes> {
  const tables = await queries.run<{ name: string; bytes: number }>(
    `SELECT coalesce(whole.relname, part.relname) AS name,
       sum(pg_total_relation_size(part.oid))::float8 AS bytes
     FROM pg_class part
     LEFT JOIN pg_inherits i ON i.inhrelid = part.oid
     LEFT JOIN pg_class whole ON whole.oid = i.inhparent
     WHERE part.relkind = 'r' AND part.relnamespace = current_schema()::regnamespace GROUP BY 1`,
  );
  return kindSizes(tables, 0);
}

/** Returns the size of the database in bytes. */
export async function databaseBytes(queries: Queries): Promise<number> {
  const statement = "SELECT pg_database_size(current_database())::float8 AS bytes";
  const [row] = await queries.run<{ bytes: number }>(statement);
  return row?.bytes ?? 0;
}

/** How long a host may take to say whether it accepts writes. */
const timeoutMs = 2 * second;

/**
 * Returns the hosts of a database that accept writes, those with the newest timeline first. Needs no rights. Hosts
 * without an answer are left out.
 */
export async function writableHosts(settings: ConnectionSettings): Promise<WritableHost[]> {
  const answers = hostsOf(settings).map(async (host): Promise<WritableHost[]> => {
    const pool = openPool(
      { ...settings, ...host, others: [] },
      { connections: 1, statementTimeoutMs: timeoutMs, isReader: true },
    );
    try {
      // The name of a WAL file begins with the timeline. A standby has no current one.
      const rows = await pool.run<{ timeline: string | null }>(
        `SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`,
      );
      return rows.flatMap(({ timeline }) =>
        timeline === null ? [] : { host: shownHost(host), timeline: Number.parseInt(timeline, 16) },
      );
    } catch {
      return [];
    } finally {
      await pool.close();
    }
  });
  return (await Promise.all(answers)).flat().sort((a, b) => b.timeline - a.timeline);
}
