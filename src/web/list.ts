import { useEffect, useRef, useState } from "preact/hooks";
import { type Loaded, useAction, useLoad, type Watched } from "./load.ts";
import { keepPages, keptPages } from "./parts/kept-place.ts";
import type { MoreProps } from "./parts/table.tsx";

/** A page of a list of the API. */
interface Page<Row> {
  readonly data: readonly Row[];
  readonly pagination: { readonly cursor: string };
}

/** Rows per page. */
export const pageSize = 100;

/** The query of a page, without filters. */
interface Paging {
  readonly limit: number;
  readonly cursor?: string;
}

/** The most pages that are reloaded at once. Further pages are read when the user scrolls to them. */
const mostReloaded = 10;

/** The pause before a failed page is requested again. */
const againMs = 5_000;

/** The rows read so far. */
export interface Rows<Row> {
  readonly rows: readonly Row[];
  readonly pages: number;
  /** The cursor of the next page; "" after the last. */
  readonly cursor: string;
}

const none = { rows: [], pages: 0, cursor: "" };

/** The rows of a list that were requested so far, and the state of its end. */
export interface Listed<Row> extends Loaded<Rows<Row>> {
  readonly rows: readonly Row[];
  readonly more: MoreProps;
}

/** Reads the first page of a list for `inputs`, and further pages on request; see `useLoad`. */
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
      const pages = Math.min(keptPages(), mostReloaded);
      let all = await behind(none, signal);
      while (all.pages < pages && all.cursor !== "") all = await behind(all, signal);
      return all;
    },
    inputs,
    watched,
  );
  const { data } = loaded;
  // Further pages of an earlier load are dropped.
  const all = rest?.of === data ? rest.all : data;
  useEffect(() => {
    if (all && all !== data) keepPages(all.pages);
  }, [all, data]);
  const requestedFor = useRef<unknown>(null);
  const readMore = useAction(async () => {
    requestedFor.current = data;
    setRest({ of: data, all: await behind(all ?? none, new AbortController().signal) });
  });
  // A failure of an earlier load is dropped.
  const fault = requestedFor.current === data ? readMore.fault : null;
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
