import { useEffect, useRef, useState } from "preact/hooks";
import { type Loaded, useAction, useLoad, type Watched } from "./load.ts";
import { keepPages, keptPages } from "./parts/kept-scroll.ts";
import type { MoreProps } from "./parts/table.tsx";

/** A page of a list, as every list of the API has it. */
interface Page<Row> {
  readonly data: readonly Row[];
  readonly pagination: { readonly cursor: string };
}

/** So many rows are a page. */
export const pageSize = 100;

/** What the API is asked for a page by, beside filters. */
interface Paging {
  readonly limit: number;
  readonly cursor?: string;
}

/** So many pages are read anew at once; those behind are read when they are scrolled to. */
const mostAnew = 10;

/** A refused page is asked for again in this time. */
const againMs = 5_000;

/** Rows as far as they were read. */
export interface Rows<Row> {
  readonly rows: readonly Row[];
  readonly pages: number;
  /** Of the next page; "" behind the last. */
  readonly cursor: string;
}

const none = { rows: [], pages: 0, cursor: "" };

/** The rows of a list as far as they were asked for, and what stands at its end. */
export interface Listed<Row> extends Loaded<Rows<Row>> {
  readonly rows: readonly Row[];
  readonly more: MoreProps;
}

/** Reads the first page of a list for `inputs`, and further ones as they are asked for; see `useLoad`. */
export function useList<Row>(
  read: (paging: Paging, signal: AbortSignal) => Promise<Page<Row>>,
  inputs: readonly unknown[],
  watched: Watched = null,
): Listed<Row> {
  const [rest, setRest] = useState<{ readonly of: unknown; readonly all: Rows<Row> } | null>(null);
  const behind = async (before: Rows<Row>, signal: AbortSignal): Promise<Rows<Row>> => {
    const { cursor } = before;
    const { data, pagination } = await read({ limit: pageSize, ...(cursor && { cursor }) }, signal);
    return { rows: [...before.rows, ...data], pages: before.pages + 1, cursor: pagination.cursor };
  };
  const loaded = useLoad<Rows<Row>>(
    async (signal) => {
      const pages = Math.min(keptPages(), mostAnew);
      let all = await behind(none, signal);
      while (all.pages < pages && all.cursor !== "") all = await behind(all, signal);
      return all;
    },
    inputs,
    watched,
  );
  const { data } = loaded;
  // What was read behind an earlier reading goes with it.
  const all = rest?.of === data ? rest.all : data;
  useEffect(() => {
    if (all && all !== data) keepPages(all.pages);
  }, [all, data]);
  const askedFor = useRef<unknown>(null);
  const readMore = useAction(async () => {
    askedFor.current = data;
    setRest({ of: data, all: await behind(all ?? none, new AbortController().signal) });
  });
  // So does what was refused.
  const fault = askedFor.current === data ? readMore.fault : null;
  useEffect(() => {
    if (fault === null) return;
    const timer = setTimeout(readMore.run, againMs);
    return () => clearTimeout(timer);
  }, [fault]);
  return {
    ...loaded,
    rows: all?.rows ?? [],
    more: {
      hasMore: Boolean(all?.cursor),
      isBusy: readMore.isBusy,
      fault,
      onMore: () => void readMore.run(),
    },
  };
}
