import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Endpoint } from "../../domain/endpoints.ts";
import { excluded } from "../drizzle/columns/of-table.ts";
import { applications } from "./schema/access.ts";
import { placeholders } from "./schema/columns.ts";
import { endpoints } from "./schema/events.ts";

/**
 * Makes a function that stores the state of an endpoint, inside a transaction, and returns whether it was stored. State
 * of an earlier generation is ignored, and so is that of a removed application.
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
