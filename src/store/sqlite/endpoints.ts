import type { Database } from "bun:sqlite";
import { eq, isNotNull, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Endpoint } from "../../domain/endpoints.ts";
import type { Store } from "../store.ts";
import type { Commit } from "./commit.ts";
import { endpoints } from "./schema/events.ts";

export function endpointStore(
  orm: BunSQLiteDatabase,
  commit: Commit,
  keep: (endpoint: Endpoint) => void,
): Store["endpoints"] {
  const find = orm
    .select()
    .from(endpoints)
    .where(eq(endpoints.application_id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const unwell = orm.select().from(endpoints).where(isNotNull(endpoints.failing_since)).prepare();
  return {
    find: async (id) => find.get({ id }) ?? null,
    failing: async () => unwell.all(),
    put: (endpoint) => commit(() => keep(endpoint)),
  };
}

/** Keeps the state of an endpoint, inside a transaction; one whose application is gone is none any more. */
export function endpointKeeper(db: Database): (endpoint: Endpoint) => void {
  const statement = db.prepare<null, (string | number | null)[]>(
    `INSERT OR REPLACE INTO endpoints (application_id, failing_since, failures, warned_at, disabled_at,
       disabled_reason, last_success_at, last_failure_at, last_failure_status, last_failure_error)
     SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM applications WHERE id = ?`,
  );
  return (endpoint) => {
    const { failing_since, failures, warned_at, disabled_at, disabled_reason, last_success_at } = endpoint;
    const { last_failure_at, last_failure_status, last_failure_error } = endpoint;
    const failing = [failing_since, failures, warned_at, disabled_at, disabled_reason];
    const last = [last_success_at, last_failure_at, last_failure_status, last_failure_error];
    statement.run(...failing, ...last, endpoint.application_id);
  };
}
