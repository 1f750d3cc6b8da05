import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { asFault, type Fault, hasExpired, reconnects } from "./client.ts";
import { changesOf, isAwaited, isLive, type Topic } from "./live.ts";

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
export type Watched = readonly Topic[] | null;

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
