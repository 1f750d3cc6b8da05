import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

const controlsOf = (row: Element) => [...row.querySelectorAll<HTMLElement>("a, button")];
/** The name of a control without the name of its row. */
const verbOf = (control: Element) => control.firstChild?.textContent;

/** Focuses the heading of the page. */
export function focusHeading(): void {
  const heading = document.querySelector<HTMLElement>("main h1") ?? document.querySelector("main");
  heading?.focus({ preventScroll: true });
}

/** Focuses the heading of the page when the focused control is removed, for example by its own action. */
export function useFocusOfTheRemoved(): void {
  useEffect(() => {
    let last: EventTarget | null = null;
    const end = new AbortController();
    const { signal } = end;
    addEventListener("focusin", ({ target }) => (last = target), { signal });
    // A click on something that is not focusable removes the focus.
    addEventListener("pointerdown", () => (last = null), { signal, capture: true });
    const observer = new MutationObserver((changes) => {
      if (!(last instanceof Element) || last.isConnected || document.activeElement !== document.body) return;
      const lost = changes.find(({ removedNodes }) =>
        [...removedNodes].some((node) => node.contains(last as Element)),
      );
      last = null;
      // Rows that are scrolled out of view are also removed from the page.
      if (lost && !(lost.target as Element).matches(".windowed")) focusHeading();
    });
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      end.abort();
      observer.disconnect();
    };
  }, []);
}

/**
 * Keeps the focus in a list of `count` rows when the focused row is deleted: the focus moves to the same control of the
 * next or previous row.
 */
export function useKeptFocus(list: RefObject<HTMLElement | null>, count: number): void {
  const before = useRef(count);
  const rows = [...(list.current?.children ?? [])];
  const focused = document.activeElement;
  const at = rows.findIndex((row) => row.contains(focused));
  useLayoutEffect(() => {
    const isShorter = count < before.current;
    before.current = count;
    if (!isShorter || at === -1 || !focused || focused.isConnected) return;
    const left = [...(list.current?.children ?? [])];
    const near = [...left.slice(at), ...left.slice(0, at).reverse()].flatMap(controlsOf);
    near.find((control) => verbOf(control) === verbOf(focused))?.focus();
  });
}

/*
 * Restores the scroll position on the way back. Each entry of the browser's history stores the position of its page,
 * and the number of pages of its list that were read. The state is in the history, so that it survives a reload.
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
/** The time after which arriving content does not scroll the page. */
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
    // The observer also reports the current size immediately.
    observer.observe(document.body);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [path]);
}
