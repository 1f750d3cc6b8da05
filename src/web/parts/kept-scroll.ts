import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/*
 * Restores the scroll position on the way back. Each entry of the browser's history stores the position of its page,
 * and the number of pages of its list that were read. The state is in the history itself, so that it survives a reload.
 */

interface Kept {
  readonly y?: number;
  readonly pages?: number;
}

const kept = () => (history.state ?? {}) as Kept;
const keep = (more: Kept) => history.replaceState({ ...kept(), ...more }, "");

/** Returns the number of pages of the list that were read. */
export const keptPages = () => kept().pages ?? 1;
export const keepPages = (pages: number) => keep({ pages });

const restMs = 100;
/** Content that arrives later no longer scrolls the page. */
const patienceMs = 5_000;

/** Restores the scroll position of a visited page; a new page starts at the top. */
export function useKeptScroll(path: string): void {
  const isReturning = useRef(false);
  useEffect(() => {
    history.scrollRestoration = "manual";
    let timer = 0;
    const keepSoon = () => {
      clearTimeout(timer);
      if (!isReturning.current) timer = window.setTimeout(() => keep({ y: scrollY }), restMs);
    };
    addEventListener("scroll", keepSoon, { passive: true });
    return () => removeEventListener("scroll", keepSoon);
  }, []);
  useLayoutEffect(() => {
    const { y = 0 } = kept();
    const end = new AbortController();
    const { signal } = end;
    const observer = new ResizeObserver(() => {
      scrollTo({ top: y, behavior: "instant" });
      if (scrollY >= y) end.abort();
    });
    signal.addEventListener("abort", () => {
      observer.disconnect();
      isReturning.current = false;
    });
    // Scrolling by the user has precedence.
    for (const type of ["wheel", "touchstart", "pointerdown", "keydown"]) {
      addEventListener(type, () => end.abort(), { signal, passive: true });
    }
    const timer = setTimeout(() => end.abort(), patienceMs);
    isReturning.current = true;
    // The observer reports the current size at once, too.
    observer.observe(document.body);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [path]);
}
