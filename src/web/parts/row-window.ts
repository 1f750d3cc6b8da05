import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Lists up to this number of rows are rendered completely. */
const fewRows = 150;
/** Rows that are rendered beyond the visible ones, on either side. */
const margin = 20;
/** The first rendered row changes in steps of this size, so that scrolling rarely renders. */
const step = 10;
const likelyHeight = 40;

/** The rendered rows of a long list, and the height of the others. */
interface RowWindow {
  readonly body: RefObject<HTMLTableSectionElement | null>;
  readonly isPart: boolean;
  readonly first: number;
  readonly end: number;
  /** In pixels. */
  readonly above: number;
  readonly below: number;
}

/**
 * Renders only the visible rows of a long list. All rows have the same height. When rows are added above, the visible
 * rows keep their position.
 */
export function useRowWindow(keys: readonly string[]): RowWindow {
  const body = useRef<HTMLTableSectionElement>(null);
  const [first, setFirst] = useState(0);
  const height = useRef(likelyHeight);
  const [shown, setShown] = useState(0);
  const before = useRef(keys);
  const isPart = keys.length > fewRows;

  const look = () => {
    if (!body.current) return;
    const row = body.current.querySelector("tr:not(.spacer)");
    height.current = row?.getBoundingClientRect().height || likelyHeight;
    const hidden = -body.current.getBoundingClientRect().top / height.current;
    setFirst(Math.max(0, Math.floor((hidden - margin) / step) * step));
    setShown(Math.ceil(innerHeight / height.current) + 2 * margin + step);
  };
  const latest = useRef(look);
  latest.current = look;

  useEffect(() => {
    if (!isPart) return;
    let asked = 0;
    const soon = () => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => latest.current());
    };
    soon();
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener("scroll", soon);
      removeEventListener("resize", soon);
    };
  }, [isPart]);

  useLayoutEffect(() => {
    const former = before.current;
    before.current = keys;
    if (!isPart || !body.current || former === keys) return;
    const read = Math.floor(-body.current.getBoundingClientRect().top / height.current);
    const key = read > 0 ? former[read] : undefined;
    const now = key === undefined ? read : keys.indexOf(key);
    if (now > read) scrollBy({ top: (now - read) * height.current, behavior: "instant" });
    look();
  });

  const start = isPart ? Math.min(first, Math.max(0, keys.length - shown)) : 0;
  const end = isPart ? Math.min(keys.length, start + (shown || fewRows)) : keys.length;
  return {
    body,
    isPart,
    first: start,
    end,
    above: start * height.current,
    below: (keys.length - end) * height.current,
  };
}
