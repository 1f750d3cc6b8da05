import { renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
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

/** Adds a mistake when a file must not be replaced. A device is never replaced, because it could not be restored. */
export function checkOutputFile(
  file: string,
  { force }: { readonly force: boolean },
  mistakes: string[],
): void {
  const directory = dirname(file);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    mistakes.push(`There is no directory ${directory}`);
    return;
  }
  const there = statSync(file, { throwIfNoEntry: false });
  if (!there) return;
  if (there.isDirectory()) mistakes.push(`${file} is a directory; name a file in it`);
  else if (!there.isFile())
    mistakes.push(`${file} is not a regular file; name another, or "-" for standard output`);
  else if (!force) mistakes.push(`${file} exists already; --force replaces it`);
}

/** Writes a temporary file next to `file` and renames it when it is complete, so that a partial file never appears. */
export async function replaceFile<T>(file: string, write: (partial: string) => Promise<T>): Promise<T> {
  const partial = `${file}.partial`;
  try {
    const result = await write(partial);
    renameSync(partial, file);
    return result;
  } finally {
    rmSync(partial, { force: true });
  }
}
