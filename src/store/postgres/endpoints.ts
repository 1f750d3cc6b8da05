import { eq, getTableColumns, isNotNull, sql } from "drizzle-orm";
import { type Endpoint, enabledAgain } from "../../domain/endpoints.ts";
import { once } from "../../domain/lazily.ts";
import type { EndpointStore } from "../endpoints.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { hurryRetries } from "./deliveries/requeue.ts";
import { applications } from "./schema/access.ts";
import { excluded } from "./schema/columns.ts";
import { endpoints } from "./schema/deliveries.ts";

export function endpointStore(pool: Postgres): EndpointStore {
  const find = once(() =>
    known(pool)
      .where(eq(endpoints.application_id, sql.placeholder("id")))
      .prepare("endpoint"),
  );
  return {
    find: async (id) => (await find().execute({ id }))[0] ?? null,
    failing: () => troubledEndpoints(pool),
    enable: (id, now) => pool.transact((transaction) => renewEndpoint(transaction, id, now)),
  };
}

/** Those that are failing or disabled. */
export async function troubledEndpoints(queries: Queries): Promise<Endpoint[]> {
  return known(queries).where(isNotNull(endpoints.failing_since));
}

/** Endpoints, of which the generation is kept with the application. */
function known({ orm }: Queries) {
  return orm
    .select({ ...getTableColumns(endpoints), generation: applications.endpoint_generation })
    .from(endpoints)
    .innerJoin(applications, eq(applications.id, endpoints.application_id));
}

/** Whether this is the stored state of an endpoint: that of an earlier generation is not stored. */
export async function isKeptState({ orm }: Queries, endpoint: Endpoint | undefined): Promise<boolean> {
  if (!endpoint) return false;
  const isIt = eq(endpoints.application_id, endpoint.application_id);
  const [kept] = await orm.select().from(endpoints).where(isIt);
  const { generation: _, ...state } = endpoint;
  return kept !== undefined && Bun.deepEquals(kept, state);
}

/**
 * Begins a new generation of the endpoint of an application, inside a transaction, and makes its retries due. Gives the
 * generation; null: the application is gone.
 */
export async function renewEndpoint(
  transaction: Queries,
  applicationId: string,
  now: number,
): Promise<number | null> {
  const [next] = await transaction.orm
    .update(applications)
    .set({ endpoint_generation: sql`${applications.endpoint_generation} + 1` })
    .where(eq(applications.id, applicationId))
    .returning({ generation: applications.endpoint_generation });
  if (!next) return null;
  const [endpoint] = await known(transaction).where(eq(endpoints.application_id, applicationId));
  if (endpoint) {
    const { generation: _, ...state } = enabledAgain(endpoint, next.generation);
    await transaction.orm
      .insert(endpoints)
      .values(state)
      .onConflictDoUpdate({ target: endpoints.application_id, set: excluded(endpoints) });
  }
  await hurryRetries(transaction, applicationId, now);
  return next.generation;
}
