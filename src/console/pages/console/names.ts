import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useLoad } from "../../load.ts";

type Application = components["schemas"]["Application"];
type Endpoint = components["schemas"]["Endpoint"];

const pageSize = 100;
/** Of more than these, the oldest are shown; the search finds the others. */
const maxPages = 10;

/** The first applications, the oldest first. */
export async function applicationsNow(signal: AbortSignal): Promise<readonly Application[]> {
  const found: Application[] = [];
  let cursor = "";
  for (let page = 0; page < maxPages; page++) {
    const query = { limit: pageSize, ...(cursor && { cursor }) };
    const { data, pagination } = await done(
      admin.GET("/admin/v1/applications", { params: { query }, signal }),
    );
    found.push(...data);
    cursor = pagination.cursor;
    if (!pagination.has_more) break;
  }
  return found;
}

/** The endpoints that are known, by application. One that was never called is not among them. */
export async function endpointsNow(signal: AbortSignal): Promise<ReadonlyMap<string, Endpoint>> {
  const found = new Map<string, Endpoint>();
  let cursor = "";
  for (let page = 0; page < maxPages; page++) {
    const query = { limit: pageSize, ...(cursor && { cursor }) };
    const { data, pagination } = await done(admin.GET("/admin/v1/endpoints", { params: { query }, signal }));
    for (const endpoint of data) found.set(endpoint.app_id, endpoint);
    cursor = pagination.cursor;
    if (!pagination.has_more) break;
  }
  return found;
}

/** The names of applications by their ids. */
export function useApplicationNames(): ReadonlyMap<string, string> {
  const { data } = useLoad(async (signal) => {
    return new Map((await applicationsNow(signal)).map(({ id, name }) => [id, name]));
  }, []);
  return data ?? new Map();
}
