import type { Database } from "bun:sqlite";
import start from "../../../../drizzle/sqlite/0000_start.sql" with { type: "text" };
import search from "../../../../drizzle/sqlite/0001_search.sql" with { type: "text" };
import delivery from "../../../../drizzle/sqlite/0002_delivery.sql" with { type: "text" };
import admin from "../../../../drizzle/sqlite/0003_admin.sql" with { type: "text" };
import oauth from "../../../../drizzle/sqlite/0004_oauth.sql" with { type: "text" };
import searchTrigrams from "../../../../drizzle/sqlite/0005_search_trigrams.sql" with { type: "text" };
import stream from "../../../../drizzle/sqlite/0006_stream.sql" with { type: "text" };
import wasItSent from "../../../../drizzle/sqlite/0007_was_it_sent.sql" with { type: "text" };
import subscriptions from "../../../../drizzle/sqlite/0008_subscriptions.sql" with { type: "text" };
import searchRuns from "../../../../drizzle/sqlite/0009_search_runs.sql" with { type: "text" };
import accessBounds from "../../../../drizzle/sqlite/0010_access_bounds.sql" with { type: "text" };
import webhookConcurrency from "../../../../drizzle/sqlite/0011_webhook_concurrency.sql" with {
  type: "text",
};
import operatorKeys from "../../../../drizzle/sqlite/0012_operator_keys.sql" with { type: "text" };
import removedDeliveries from "../../../../drizzle/sqlite/0013_removed_deliveries.sql" with { type: "text" };
import tagIds from "../../../../drizzle/sqlite/0014_tag_ids.sql" with { type: "text" };
import endpointGenerations from "../../../../drizzle/sqlite/0015_endpoint_generations.sql" with {
  type: "text",
};
import selfService from "../../../../drizzle/sqlite/0016_self_service.sql" with { type: "text" };
import notices from "../../../../drizzle/sqlite/0017_notices.sql" with { type: "text" };
import audit from "../../../../drizzle/sqlite/0018_audit.sql" with { type: "text" };
import statistics from "../../../../drizzle/sqlite/0019_statistics.sql" with { type: "text" };
import stagedEvents from "../../../../drizzle/sqlite/0020_staged_events.sql" with { type: "text" };
import operatorSessions from "../../../../drizzle/sqlite/0021_operator_sessions.sql" with { type: "text" };
import packedBodies from "../../../../drizzle/sqlite/0022_packed_bodies.sql" with { type: "text" };
import sessionKeys from "../../../../drizzle/sqlite/0023_session_keys.sql" with { type: "text" };
import endpointPauses from "../../../../drizzle/sqlite/0024_endpoint_pauses.sql" with { type: "text" };
import refreshRate from "../../../../drizzle/sqlite/0025_refresh_rate.sql" with { type: "text" };
import { StoreError } from "../../faults.ts";
import {
  type AppliedMigration,
  checkedCount,
  hashOf,
  type Migration,
  statementsOf,
} from "../../rows/applied-migrations.ts";
import { missingObjects } from "./objects.ts";

/** All migrations in order; imported as text, so that they are inside the executable. */
export const migrations: readonly Migration[] = [
  { name: "0000_start", sql: start },
  { name: "0001_search", sql: search },
  { name: "0002_delivery", sql: delivery },
  { name: "0003_admin", sql: admin },
  { name: "0004_oauth", sql: oauth },
  { name: "0005_search_trigrams", sql: searchTrigrams },
  { name: "0006_stream", sql: stream },
  { name: "0007_was_it_sent", sql: wasItSent },
  { name: "0008_subscriptions", sql: subscriptions },
  { name: "0009_search_runs", sql: searchRuns },
  { name: "0010_access_bounds", sql: accessBounds },
  { name: "0011_webhook_concurrency", sql: webhookConcurrency },
  { name: "0012_operator_keys", sql: operatorKeys },
  { name: "0013_removed_deliveries", sql: removedDeliveries },
  { name: "0014_tag_ids", sql: tagIds },
  { name: "0015_endpoint_generations", sql: endpointGenerations },
  { name: "0016_self_service", sql: selfService },
  { name: "0017_notices", sql: notices },
  { name: "0018_audit", sql: audit },
  { name: "0019_statistics", sql: statistics },
  { name: "0020_staged_events", sql: stagedEvents },
  { name: "0021_operator_sessions", sql: operatorSessions },
  { name: "0022_packed_bodies", sql: packedBodies },
  { name: "0023_session_keys", sql: sessionKeys },
  { name: "0024_endpoint_pauses", sql: endpointPauses },
  { name: "0025_refresh_rate", sql: refreshRate },
];

/**
 * Migrates the database to the current schema, in one transaction. `applying` is called with the name of each migration
 * before it begins. Throws a `StoreError` as `checkMigrations` does.
 */
export function migrate(
  db: Database,
  list: readonly Migration[] = migrations,
  applying: (name: string) => void = () => {},
): void {
  db.run(
    "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL)",
  );
  const applied = checkMigrations(db, list);
  if (applied === list.length) return;
  // Rebuilding a table drops it, which with foreign keys on would delete the rows that refer to it. The pragma has no
  // effect inside a transaction.
  db.run("PRAGMA foreign_keys = OFF");
  try {
    db.transaction(() => apply(db, list, applied, applying)).immediate();
  } finally {
    db.run("PRAGMA foreign_keys = ON");
  }
}

/** Whether a database is one of onair, of any version. */
export function isOurs(db: Database): boolean {
  const columns = db
    .query("SELECT 1 FROM pragma_table_info('migrations') WHERE name IN ('name', 'hash')")
    .all();
  return columns.length === 2 && db.query("SELECT 1 FROM migrations").get() !== null;
}

/** Whether a database has the current schema, complete. Only reads. Throws as `checkMigrations` does. */
export function isNewest(db: Database): boolean {
  return checkMigrations(db) === migrations.length && missingObjects(db).length === 0;
}

/**
 * Returns the objects that a database of onair lacks, such as "the table users". Empty for an older schema, of which
 * that is not known. Only reads. Throws as `checkMigrations` does.
 */
export function missingIn(db: Database): string[] {
  return checkMigrations(db) === migrations.length ? missingObjects(db) : [];
}

/** Returns the number of applied migrations. Only reads. Throws as `checkedCount` does. */
function checkMigrations(db: Database, list: readonly Migration[] = migrations): number {
  const applied = db.query<AppliedMigration, []>("SELECT name, hash FROM migrations ORDER BY number").all();
  const wayBack = ", or restore a backup from before the upgrade";
  return checkedCount(list, applied, { what: "The data", wayBack, isMisuse: false });
}

/** Does the same for any database: 0 for an empty one. Throws a `StoreError` for one of another program. Only reads. */
export function appliedMigrations(db: Database): number {
  if (isOurs(db)) return checkMigrations(db);
  // An interrupted first start leaves the empty table of migrations.
  if (db.query("SELECT 1 FROM sqlite_schema WHERE tbl_name <> 'migrations'").get() === null) return 0;
  throw new StoreError("It is a database of SQLite, but not one of onair.");
}

function apply(
  db: Database,
  list: readonly Migration[],
  from: number,
  applying: (name: string) => void,
): void {
  for (const [number, migration] of list.entries()) {
    if (number < from) continue;
    const { name } = migration;
    applying(name);
    for (const statement of statementsOf(migration)) db.run(statement);
    db.run("INSERT INTO migrations (number, name, hash) VALUES (?, ?, ?)", [number, name, hashOf(migration)]);
  }
  const broken = db.query("PRAGMA foreign_key_check").all();
  if (broken.length > 0)
    throw new StoreError("A migration would leave rows with dangling references. Nothing was changed.");
}
