import { eq } from "drizzle-orm";
import type { Endpoint } from "../../domain/endpoints.ts";
import type { Queries } from "./database/pool.ts";
import { endpoints } from "./schema/deliveries.ts";

/** Whether this state of an endpoint is the stored one. State of an earlier generation was not stored. */
export async function isKeptState({ orm }: Queries, endpoint: Endpoint | undefined): Promise<boolean> {
  if (!endpoint) return false;
  const isIt = eq(endpoints.application_id, endpoint.application_id);
  const [kept] = await orm.select().from(endpoints).where(isIt);
  const { generation: _, ...state } = endpoint;
  return kept !== undefined && Bun.deepEquals(kept, state);
}
