import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { asFault, Fault, hasExpired, nonEmpty, reconnects } from "./client.ts";
import { changesOf, isAwaited, isLive, type Topic } from "./live.ts";
import { keepPages, keptPages } from "./parts/kept-place.ts";

/** Data read from the server. During a reload, `data` is the former data. */
export interface Loaded<T> {
  readonly data: T | null;
  readonly fault: Fault | null;
  reload(): void;
}

const typingMs = 150;
/** The interval at which watched data is reloaded without an event stream. */
const withoutStreamMs = 5_000;

/** The topics whose changes reload the data; null for none. */
type Watched = readonly Topic[] | null;

/**
 * Loads data: at once, or watched data as soon as the event stream is open. Reloads it when one of `inputs` changes,
 * when a lost connection is back, and when a watched topic changes while the page is visible.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  watched: Watched = null,
): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; fault: Fault | null }>({ data: null, fault: null });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => setTurn((last) => last + 1), []);
  const key = JSON.stringify(inputs);
  const before = useRef(key);
  const connection = reconnects.value;
  const isWaiting = watched !== null && isAwaited.value;
  useEffect(() => {
    if (isWaiting) return;
    const abort = new AbortController();
    const isSame = before.current === key;
    before.current = key;
    if (!isSame) setState(({ fault }) => ({ data: null, fault }));
    const begin = () => {
      latest.current(abort.signal).then(
        (data) => abort.signal.aborted || setState({ data, fault: null }),
        (error) => abort.signal.aborted || setState(({ data }) => ({ data, fault: asFault(error) })),
      );
    };
    // Inputs may change with every key that is typed.
    const timer = setTimeout(begin, isSame ? 0 : typingMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, turn, connection, isWaiting]);
  const change = watched ? changesOf(watched) : 0;
  const changeBefore = useRef(change);
  const isPolling = watched !== null && !isLive.value && !isWaiting && !hasExpired.value;
  useEffect(() => {
    if (change !== changeBefore.current) reload();
    changeBefore.current = change;
  }, [change, reload]);
  useEffect(() => {
    if (!isPolling) return;
    const timer = setInterval(() => document.visibilityState === "visible" && reload(), withoutStreamMs);
    return () => clearInterval(timer);
  }, [isPolling, reload]);
  return { ...state, reload };
}

/** The most objects of one look-up by ids. */
const idsAtOnce = 100;

/**
 * Returns objects by id. Known objects are not requested again. An id without an entry belongs to no object, or the
 * object is not known yet, or its look-up was refused.
 */
export function useById<Id extends string | number, Found extends { readonly id: Id }>(
  ids: readonly (Id | null | undefined)[],
  read: (ids: Id[], signal: AbortSignal) => Promise<readonly Found[]>,
): ReadonlyMap<Id, Found> {
  const known = useRef(new Map<Id, Found | null>());
  const unknown = [...new Set(ids)].filter((id): id is Id => Boolean(id) && !known.current.has(id as Id));
  const requested = unknown.slice(0, idsAtOnce);
  useLoad(
    async (signal) => {
      if (requested.length === 0) return;
      const found = await read(requested, signal).catch((error): readonly Found[] => {
        // What may not be looked up is not requested again whenever the list changes.
        if (error instanceof Fault && error.status === 403) return [];
        throw error;
      });
      for (const id of requested) known.current.set(id, null);
      for (const object of found) known.current.set(object.id, object);
    },
    [requested.join()],
  );
  return new Map([...known.current].flatMap(([id, found]) => (found ? [[id, found] as const] : [])));
}

/** A change that the user requests. */
export interface Action {
  /** Whether the change is in progress. */
  readonly isBusy: boolean;
  /** Why the change was refused; null if it was not. */
  readonly fault: Fault | null;
  run(): Promise<void>;
  /** Drops the fault of the last run, when its reason has changed. */
  forget(): void;
  /** The unsaved input of the action's form; absent for an action without one. */
  readonly draft?: {
    /** Whether the input is from before the form was opened. */
    readonly isRestored: boolean;
    discard(): void;
  };
}

export function useAction(act: () => Promise<unknown>): Action {
  const [fault, setFault] = useState<Fault | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setFault(null);
    try {
      await act();
    } catch (error) {
      setFault(asFault(error));
    } finally {
      setBusy(false);
    }
  };
  const forget = () => setFault(null);
  return { run, forget, isBusy, fault };
}

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

/** The end of a list with further pages. */
export interface MoreProps {
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  readonly fault: Fault | null;
  readonly onMore: () => void;
}

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
    const { data, pagination } = await read({ limit: pageSize, ...nonEmpty({ cursor }) }, signal);
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
