import { useRef, useState } from "preact/hooks";
import { type Loaded, useAction, useLoad, type Watched } from "./load.ts";
import type { MoreProps } from "./parts/table.tsx";

/** A page of a list, as every list of the API has it. */
interface Page<Row> {
  readonly data: readonly Row[];
  readonly pagination: { readonly cursor: string };
}

/** So many pages are read anew at once; those behind are read when they are scrolled to. */
const mostAnew = 10;

/** The rows of a list as far as they were asked for, and what stands at its end. */
export interface Listed<Row> extends Loaded<{ readonly rows: readonly Row[]; readonly cursor: string }> {
  readonly rows: readonly Row[];
  readonly more: MoreProps;
}

/** Reads the first page of a list for `inputs`, and further ones as they are asked for; see `useLoad`. */
export function useList<Row>(
  read: (cursor: string, signal: AbortSignal) => Promise<Page<Row>>,
  inputs: readonly unknown[],
  watched: Watched = null,
): Listed<Row> {
  const key = JSON.stringify(inputs);
  const known = useRef({ key, pages: 1 });
  const [rest, setRest] = useState<{ of: unknown; rows: readonly Row[]; cursor: string } | null>(null);
  const loaded = useLoad(
    async (signal) => {
      if (known.current.key !== key) known.current = { key, pages: 1 };
      const rows: Row[] = [];
      let cursor = "";
      for (let page = 0; page < Math.min(known.current.pages, mostAnew); page++) {
        const { data, pagination } = await read(cursor, signal);
        rows.push(...data);
        cursor = pagination.cursor;
        if (cursor === "") break;
      }
      return { rows, cursor };
    },
    inputs,
    watched,
  );
  const { data } = loaded;
  // What was read behind an earlier reading goes with it.
  const behind = rest?.of === data ? rest : null;
  const cursor = behind?.cursor ?? data?.cursor ?? "";
  const rows = behind ? behind.rows : (data?.rows ?? []);
  const readMore = useAction(async () => {
    const page = await read(cursor, new AbortController().signal);
    known.current.pages++;
    setRest({ of: data, rows: [...rows, ...page.data], cursor: page.pagination.cursor });
  });
  const { fault, isBusy } = readMore;
  return {
    ...loaded,
    rows,
    more: { hasMore: cursor !== "", isBusy, fault, onMore: () => void readMore.run() },
  };
}
