import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/*
 * The way back leads to where one was: each entry of the browser's history keeps how far its page was scrolled, and how
 * many pages of its list were read. It is the browser's own, so that it holds behind a reload, too.
 */

interface Kept {
  readonly y?: number;
  readonly pages?: number;
}

const kept = () => (history.state ?? {}) as Kept;
const keep = (more: Kept) => history.replaceState({ ...kept(), ...more }, "");

/** How many pages of the list were read. */
export const keptPages = () => kept().pages ?? 1;
export const keepPages = (pages: number) => keep({ pages });

const restMs = 100;
/** What has not come by then does not move the page any more. */
const patienceMs = 5_000;

/** Scrolls a page to where it was left, and one that is new to its top. */
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
    // A scroll by the user meanwhile is not overridden.
    for (const type of ["wheel", "touchstart", "pointerdown", "keydown"]) {
      addEventListener(type, () => end.abort(), { signal, passive: true });
    }
    const timer = setTimeout(() => end.abort(), patienceMs);
    isReturning.current = true;
    // It tells of the size at once, too.
    observer.observe(document.body);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [path]);
}
