import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Fault, messageOf, reconnects } from "./client.ts";
import { changes, isLive } from "./live.ts";

/** What a page reads from the server. `data` stays while it is read anew. */
export interface Loaded<T> {
  readonly data: T | null;
  readonly fault: Fault | null;
  readonly isLoading: boolean;
  reload(): void;
}

const typingMs = 150;
/** How often what is live is read anew without a stream, and beside it. */
const liveMs = { without: 3_000, beside: 15_000 } as const;

/**
 * Reads what `load` gives: at once, when one of `inputs` changes, when the connection is back, and every `everyMs` while
 * the page is visible; with `live`, when something becomes of deliveries.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  every: number | "live" | null = null,
): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; fault: Fault | null; isLoading: boolean }>({
    data: null,
    fault: null,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => setTurn((last) => last + 1), []);
  const key = JSON.stringify(inputs);
  const before = useRef(key);
  const connection = reconnects.value;
  useEffect(() => {
    const abort = new AbortController();
    const isSame = before.current === key;
    before.current = key;
    setState((last) => ({ data: isSame ? last.data : null, fault: last.fault, isLoading: true }));
    const begin = () => {
      latest.current(abort.signal).then(
        (data) => abort.signal.aborted || setState({ data, fault: null, isLoading: false }),
        (error) => {
          if (abort.signal.aborted) return;
          const fault = error instanceof Fault ? error : new Fault(messageOf(error), "unknown", 0);
          setState((last) => ({ data: last.data, fault, isLoading: false }));
        },
      );
    };
    // Who types changes the inputs with every key.
    const timer = setTimeout(begin, isSame ? 0 : typingMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, turn, connection]);
  const everyMs = every === "live" ? (isLive.value ? liveMs.beside : liveMs.without) : every;
  const change = every === "live" ? changes.value : 0;
  useEffect(() => {
    if (change > 0) reload();
  }, [change, reload]);
  useEffect(() => {
    if (everyMs === null) return;
    const timer = setInterval(() => document.visibilityState === "visible" && reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reload]);
  return { ...state, reload };
}

/** A change that a person asks for: whether it is under way, and why it was refused. */
export function useAction<Args extends unknown[]>(act: (...args: Args) => Promise<unknown>) {
  const [fault, setFault] = useState<Fault | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (...args: Args): Promise<boolean> => {
    setBusy(true);
    setFault(null);
    try {
      await act(...args);
      return true;
    } catch (error) {
      setFault(error instanceof Fault ? error : new Fault(messageOf(error), "unknown", 0));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { run, isBusy, fault, clear: () => setFault(null) };
}
