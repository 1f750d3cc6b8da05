import type { Environment } from "../../config/read-config.ts";
import { readNumber, switches, valued } from "../arguments.ts";
import { print, screen, tableWriter, write } from "./print.ts";

export const pagingOptions = { ...valued("limit", "cursor"), ...switches("all") };
export const pagingNames = ["limit", "cursor", "all"] as const;

export const pagingHelp = `  --limit N      for list: how many at most (default: 25)
  --all          for list: all of them
  --cursor CURSOR
                 for list: go on behind the list that named this cursor`;

const defaultLimit = 25;
/** The largest page that one request may ask for. */
const longestPage = 100;

/** The requested part of a list. */
export interface Paging {
  readonly limit: number;
  readonly cursor: string;
}

/** Reads the requested part of a list, and adds problems to `mistakes`. */
export function readPaging(
  values: {
    readonly limit?: string | undefined;
    readonly all?: boolean | undefined;
    readonly cursor?: string | undefined;
  },
  mistakes: string[],
): Paging {
  const { limit, all = false, cursor = "" } = values;
  if (all && limit !== undefined) mistakes.push("--limit and --all exclude each other");
  const number = readNumber("limit", limit, mistakes, 1);
  return { limit: all ? Number.POSITIVE_INFINITY : (number ?? defaultLimit), cursor };
}

/** A page of the admin API. */
export interface ListPage<T> {
  readonly data: readonly T[];
  readonly pagination: { readonly cursor: string; readonly has_more: boolean };
}

/** The requested pages, following cursors. */
export async function* pagesOf<T>(
  { limit, cursor: from }: Paging,
  fetchPage: (query: string) => Promise<ListPage<T>>,
): AsyncGenerator<ListPage<T>> {
  let cursor = from;
  for (let left = limit; left > 0; ) {
    const query = new URLSearchParams({ limit: String(Math.min(left, longestPage)) });
    if (cursor !== "") query.set("cursor", cursor);
    const page = await fetchPage(query.toString());
    yield page;
    left -= page.data.length;
    ({ cursor } = page.pagination);
    if (!page.pagination.has_more) return;
  }
}

interface ListOutput<T> {
  readonly json: boolean;
  readonly env: Environment;
  readonly columns: readonly string[];
  cells(item: T): readonly string[];
  /** The note for an empty list. */
  readonly empty: string;
}

/** Prints a list page by page, as one JSON object or as a table, with a note when it is empty or has more pages. */
export async function printList<T>(
  pages: AsyncIterable<ListPage<T>>,
  { json, env, columns, cells, empty }: ListOutput<T>,
): Promise<void> {
  const tabulated = tableWriter(columns, screen(env));
  let pagination: ListPage<T>["pagination"] = { cursor: "", has_more: false };
  let count = 0;
  if (json) await write('{"data":[');
  for await (const page of pages) {
    ({ pagination } = page);
    if (page.data.length === 0) continue;
    if (json) {
      const items = page.data.map((item) => JSON.stringify(item)).join(",");
      await write(count > 0 ? `,${items}` : items);
    } else await print(tabulated(page.data.map(cells)));
    count += page.data.length;
  }
  if (json) return print(`],"pagination":${JSON.stringify(pagination)}}`);
  if (pagination.has_more) note(`There are more: --all, or --cursor=${pagination.cursor}`);
  else if (count === 0) note(empty);
}

/** Prints a note on standard error. */
export function note(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}
