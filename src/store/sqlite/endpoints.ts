import { eq, getTableColumns, isNotNull, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { type Endpoint, enabledAgain } from "../../domain/endpoints.ts";
import type { EndpointStore } from "../endpoints.ts";
import type { Commit } from "./database/commit.ts";
import { hurrier } from "./deliveries/requeue.ts";
import { applications } from "./schema/access.ts";
import { excluded, placeholders } from "./schema/columns.ts";
import { endpoints } from "./schema/events.ts";

export function endpointStore(orm: BunSQLiteDatabase, commit: Commit): EndpointStore {
  const renew = endpointRenewer(orm);
  const find = endpointFinder(orm);
  return {
    find: async (id) => find(id),
    failing: async () => troubledEndpoints(orm),
    enable: (id, now) => commit(() => renew(id, now)),
  };
}

/** Those that are failing or disabled. */
export function troubledEndpoints(orm: BunSQLiteDatabase): Endpoint[] {
  return known(orm).where(isNotNull(endpoints.failing_since)).all();
}

/** Endpoints, of which the generation is kept with the application. */
function known(orm: BunSQLiteDatabase) {
  return orm
    .select({ ...getTableColumns(endpoints), generation: applications.endpoint_generation })
    .from(endpoints)
    .innerJoin(applications, eq(applications.id, endpoints.application_id));
}

function endpointFinder(orm: BunSQLiteDatabase): (applicationId: string) => Endpoint | null {
  const find = known(orm)
    .where(eq(endpoints.application_id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  return (id) => find.get({ id }) ?? null;
}

/**
 * Keeps the state of an endpoint, inside a transaction. The state of an earlier generation is not kept, nor that of an
 * application that is gone. Gives whether it was kept.
 */
export function endpointKeeper(orm: BunSQLiteDatabase): (endpoint: Endpoint) => boolean {
  const generationOf = orm
    .select({ generation: applications.endpoint_generation })
    .from(applications)
    .where(eq(applications.id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const put = orm
    .insert(endpoints)
    .values(placeholders(endpoints))
    .onConflictDoUpdate({ target: endpoints.application_id, set: excluded(endpoints) })
    .prepare();
  return (endpoint) => {
    const current = generationOf.get({ id: endpoint.application_id })?.generation;
    const isKept = endpoint.generation === current;
    if (isKept) put.run({ ...endpoint });
    return isKept;
  };
}

/**
 * Begins a new generation of the endpoint of an application, inside a transaction, and makes its retries due. Gives the
 * generation; null: the application is gone.
 */
export function endpointRenewer(
  orm: BunSQLiteDatabase,
): (applicationId: string, now: number) => number | null {
  const find = endpointFinder(orm);
  const keep = endpointKeeper(orm);
  const hurry = hurrier(orm);
  return (applicationId, now) => {
    const next = orm
      .update(applications)
      .set({ endpoint_generation: sql`${applications.endpoint_generation} + 1` })
      .where(eq(applications.id, applicationId))
      .returning({ generation: applications.endpoint_generation })
      .get();
    if (!next) return null;
    const endpoint = find(applicationId);
    if (endpoint) keep(enabledAgain(endpoint, next.generation));
    hurry(applicationId, now);
    return next.generation;
  };
}
