import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

const controlsOf = (row: Element) => [...row.querySelectorAll<HTMLElement>("a, button")];
/** What a control does, without of which row it is. */
const verbOf = (control: Element) => control.firstChild?.textContent;

/** Where nothing has the focus, gives it to the heading of the page. */
export function focusHeading(): void {
  if (document.activeElement === document.body) document.querySelector<HTMLElement>("main h1")?.focus();
}

/**
 * Keeps the focus in a list of `count` rows when the row that has it is deleted: it goes to the same control of the next
 * row, or of one before, and where there is none to the heading of the page.
 */
export function useKeptFocus(list: RefObject<HTMLElement | null>, count: number): void {
  const before = useRef(count);
  const rows = [...(list.current?.children ?? [])];
  const focused = document.activeElement;
  const at = rows.findIndex((row) => row.contains(focused));
  useLayoutEffect(() => {
    const isShorter = count < before.current;
    before.current = count;
    // A row that is only scrolled away is not drawn either.
    if (!isShorter || at === -1 || !focused || focused.isConnected) return;
    const left = [...(list.current?.children ?? [])];
    const near = [...left.slice(at), ...left.slice(0, at).reverse()].flatMap(controlsOf);
    near.find((control) => verbOf(control) === verbOf(focused))?.focus();
    focusHeading();
  });
  useLayoutEffect(() => {
    const { current } = list;
    return () => {
      if (!current?.contains(document.activeElement)) return;
      (document.activeElement as HTMLElement).blur();
      focusHeading();
    };
  }, []);
}
