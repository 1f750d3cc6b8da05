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
      // A row that was scrolled out of view is removed from the page, too.
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
 * Keeps the focus in a list of `count` rows when the focused row is deleted: it moves to the same control of the next
 * or previous row.
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
