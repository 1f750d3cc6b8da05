import { escaped } from "../../runtime/terminal.ts";
import type { Environment } from "../../server/settings/read-config.ts";
import { note, print, recordLines, type Screen, screen, table, tableWriter, write } from "./print.ts";

/** A page of the admin API. */
export interface ListPage<T> {
  /** Why a requested delivery does not exist, if that is known. */
  readonly not_sent?: string | undefined;
  readonly data: readonly T[];
  readonly pagination: { readonly cursor: string; readonly has_more: boolean };
}

interface Rows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The note for a list without items. */
  readonly empty: string;
}

interface ListForm<T> {
  readonly columns: readonly string[];
  cells(item: T): readonly string[];
  /** The note for an empty list. */
  readonly empty: string;
}

/** Prints the results of a command on standard output: as JSON, or as text for people. */
export class Output {
  readonly screen: Screen;

  constructor(
    readonly json: boolean,
    env: Environment,
  ) {
    this.screen = screen(env);
  }

  /** Prints a value as JSON, or this text. */
  answer(value: unknown, text: string): Promise<void> {
    return print(this.json ? JSON.stringify(value) : text);
  }

  /** Prints a record as JSON, or the fields of `shown` as text. */
  record(value: Readonly<Record<string, unknown>>, fields = value): Promise<void> {
    return this.answer(value, recordLines(fields, this.screen));
  }

  /** Prints a value as JSON, or the rows as a table. */
  async table(value: unknown, { columns, rows, empty }: Rows): Promise<void> {
    if (rows.length === 0 && !this.json) note(empty);
    else await this.answer(value, table(columns, rows, this.screen));
  }

  /** Prints a list page by page, as one JSON object or as a table, with a note when it is empty or has more pages. */
  async list<T>(pages: AsyncIterable<ListPage<T>>, { columns, cells, empty }: ListForm<T>): Promise<void> {
    const tabulated = tableWriter(columns, this.screen);
    let pagination: ListPage<T>["pagination"] = { cursor: "", has_more: false };
    let count = 0;
    let reason = empty;
    if (this.json) await write('{"data":[');
    for await (const page of pages) {
      ({ pagination } = page);
      reason = page.not_sent ?? reason;
      if (page.data.length === 0) continue;
      if (this.json) {
        const items = escaped(page.data.map((item) => JSON.stringify(item)).join(","));
        await write(count > 0 ? `,${items}` : items);
      } else await print(tabulated(page.data.map(cells)));
      count += page.data.length;
    }
    if (this.json) return print(`],"pagination":${JSON.stringify(pagination)}}`);
    if (pagination.has_more)
      note(`There are more: use --all, or continue with --cursor=${pagination.cursor}`);
    else if (count === 0) note(reason);
  }
}

/** The requested part of a list. */
export interface Paging {
  readonly limit: number;
  readonly cursor: string;
}

/** The fields of a query that name a page. */
type PageQuery = { readonly limit: number; readonly cursor?: string };

/** The largest page of one request. */
const longestPage = 100;

/** Fetches the requested pages, following cursors. */
export async function* pagesOf<T>(
  { limit, cursor: from }: Paging,
  fetchPage: (page: PageQuery) => Promise<ListPage<T>>,
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
