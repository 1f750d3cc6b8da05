import { eq, getTableColumns, isNotNull, or, sql } from "drizzle-orm";
import { receives, usesOnlyStream } from "../../domain/applications.ts";
import { disabledReceiver, noReceiver } from "../../domain/delivery-log.ts";
import { type Endpoint, enabledAgain } from "../../domain/endpoints.ts";
import { type DomainError, ownerGone } from "../../domain/errors.ts";
import type { EndpointStore } from "../endpoints.ts";
import { makeRetriesDue } from "./deliveries/ending.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";

export function endpointStore(db: Dialect): EndpointStore {
  const { orm, tables, transact, prepared } = db;
  const isIt = eq(tables.endpoints.application_id, sql.placeholder("id"));
  const find = prepared("endpoint", (orm) => known(tables, orm).where(isIt));
  return {
    find: async (id) => (await find(orm, { id }))[0] ?? null,
    failing: () => troubledEndpoints(db),
    enable: (id, now) => transact((orm) => renewEndpoint(tables, orm, id, now)),
  };
}

/**
 * Endpoints that are failing or disabled. A disabled one may not be failing: its attempts in progress may succeed
 * later.
 */
export async function troubledEndpoints({ orm, tables }: Dialect): Promise<Endpoint[]> {
  const { failing_since, disabled_at } = tables.endpoints;
  return known(tables, orm).where(or(isNotNull(failing_since), isNotNull(disabled_at)));
}

/** Selects endpoints. Their generation is stored with the application. */
function known({ applications, endpoints }: Tables, orm: Orm) {
  return orm
    .select({ ...getTableColumns(endpoints), generation: applications.endpoint_generation })
    .from(endpoints)
    .innerJoin(applications, eq(applications.id, endpoints.application_id));
}

/**
 * Begins a new generation of an application's endpoint, inside a transaction, and makes its retries due. Returns the
 * generation, or null when the application is gone.
 */
export function* renewEndpoint(
  tables: Tables,
  orm: Orm,
  applicationId: string,
  now: number,
  renewed: typeof enabledAgain = enabledAgain,
): Work<number | null> {
  const { applications, endpoints } = tables;
  const [next] = yield* execute(
    orm
      .update(applications)
      .set({ endpoint_generation: sql`${applications.endpoint_generation} + 1` })
      .where(eq(applications.id, applicationId))
      .returning({ generation: applications.endpoint_generation }),
  );
  if (!next) return null;
  const isIts = eq(endpoints.application_id, applicationId);
  const [endpoint] = yield* execute(known(tables, orm).where(isIts));
  if (endpoint) {
    const { generation: _, ...state } = renewed(endpoint, next.generation);
    yield* execute(orm.update(endpoints).set(state).where(isIts));
  }
  yield* makeRetriesDue(tables, orm, applicationId, now);
  return next.generation;
}

type ReceiverTables = Pick<Tables, "applications" | "endpoints">;

/** Returns the reason why nothing can be sent to an application now; null when something can. */
export function* whyNoReceiver(
  { applications, endpoints }: ReceiverTables,
  orm: Orm,
  applicationId: string,
): Work<DomainError | null> {
  const { webhook_url, disabled, delivery } = applications;
  const [found] = yield* execute(
    orm
      .select({ webhook_url, disabled, delivery, disabled_reason: endpoints.disabled_reason })
      .from(applications)
      .leftJoin(endpoints, eq(endpoints.application_id, applications.id))
      .where(eq(applications.id, applicationId)),
  );
  if (!found) return ownerGone();
  if (!receives(found) || usesOnlyStream(found)) return noReceiver(found);
  return found.disabled_reason === null ? null : disabledReceiver(found.disabled_reason);
}

/** Throws `conflict` when nothing can be sent to an application now. */
export function* requireReceiver(tables: ReceiverTables, orm: Orm, applicationId: string): Work<void> {
  const reason = yield* whyNoReceiver(tables, orm, applicationId);
  if (reason) throw reason;
}
