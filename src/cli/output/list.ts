import { type Given, readNumber, switches, valued } from "../arguments.ts";
import type { Fields } from "../calls/admin-api.ts";
import type { ListPage } from "./output.ts";

export const pagingOptions = { ...valued("limit", "cursor"), ...switches("all") };
export const pagingNames = ["limit", "cursor", "all"] as const;

export const pagingHelp = `  --limit N      for list: maximum number of items (default: 25)
  --all          for list: all items
  --cursor CURSOR
                 for list: continue after the list that printed this cursor`;

const defaultLimit = 25;
/** The largest page of one request. */
const longestPage = 100;

/** The requested part of a list. */
export interface Paging {
  readonly limit: number;
  readonly cursor: string;
}

/** Reads the requested part of a list, and adds problems to `mistakes`. */
export function readPaging(
  { limit, all = false, cursor = "" }: Given<typeof pagingOptions>,
  mistakes: string[],
): Paging {
  if (all && limit !== undefined) mistakes.push("--limit and --all exclude each other");
  const number = readNumber("limit", limit, mistakes, 1);
  return { limit: all ? Number.POSITIVE_INFINITY : (number ?? defaultLimit), cursor };
}

/** Fetches the requested pages, following cursors. */
export async function* pagesOf<T>(
  { limit, cursor: from }: Paging,
  fetchPage: (page: Fields) => Promise<ListPage<T>>,
): AsyncGenerator<ListPage<T>> {
  let cursor = from;
  for (let left = limit; left > 0; ) {
    const page = await fetchPage({ limit: Math.min(left, longestPage), ...(cursor !== "" && { cursor }) });
    yield page;
    left -= page.data.length;
    ({ cursor } = page.pagination);
    if (!page.pagination.has_more) return;
  }
}
