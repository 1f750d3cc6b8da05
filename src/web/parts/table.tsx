import type { ComponentChildren, ComponentProps, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { Fault } from "../client.ts";
import { type Loaded, type MoreProps, useLoad } from "../load.ts";
import { Button, FaultNotice, Head, Loading } from "./basics.tsx";
import { useKeptFocus } from "./kept-place.ts";

export interface Column<Row> {
  readonly name: string;
  readonly show: (row: Row) => ComponentChildren;
  /** Whether the column has numbers, which are aligned to the right. */
  readonly isNumber?: boolean;
  /** Whether the column takes the remaining width, and its text is truncated. */
  readonly isFilling?: boolean;
  /** The width of the table up to which the column is hidden. */
  readonly hide?: "narrow" | "medium";
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The page that a click on a row opens. One of the row's cells should link to it, too. */
  readonly linkOf?: (row: Row) => string;
  /** What a click on a row does. One of the row's cells should have a button that does so, too. */
  readonly onOpen?: (row: Row) => void;
  readonly isFresh?: (row: Row) => boolean;
}

/** A table. Only the visible rows of a long table are rendered. */
export function Table<Row>({ label, columns, rows, keyOf, linkOf, onOpen, isFresh }: TableProps<Row>) {
  const { route } = useLocation();
  const { body, isPart, first, end, above, below } = useRowWindow(rows.map(keyOf));
  useKeptFocus(body, rows.length);
  const classOf = ({ isNumber, isFilling, hide }: Column<Row>) =>
    [isNumber && "number", isFilling && "fill", hide && `hide-${hide}`].filter(Boolean).join(" ");
  const open = (event: MouseEvent, row: Row) => {
    const target = event.target as HTMLElement;
    if (target.closest("a, button, input") || getSelection()?.toString()) return;
    onOpen?.(row);
    if (linkOf) route(linkOf(row));
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table aria-label={label} aria-rowcount={isPart ? rows.length + 1 : undefined}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.name || <span class="visually-hidden">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} class={isPart ? "windowed" : ""}>
          <Spacer height={above} columns={columns.length} />
          {rows.slice(first, end).map((row, i) => (
            <tr
              key={keyOf(row)}
              class={`${linkOf || onOpen ? "linked" : ""} ${isFresh?.(row) ? "fresh" : ""}`}
              aria-rowindex={isPart ? first + i + 2 : undefined}
              onClick={(event) => open(event, row)}
            >
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
          <Spacer height={below} columns={columns.length} />
        </tbody>
      </table>
    </section>
  );
}

/** An empty row with the height of rows that are not rendered. */
function Spacer({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row takes no focus
    <tr class="spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}

/** Renders loaded data; before the data is loaded, a placeholder or the error. */
export function Read<T>({
  of: { data, fault, reload },
  children,
}: {
  of: Loaded<T>;
  children: (data: T) => ComponentChildren;
}) {
  if (data === null) return fault ? <FaultNotice fault={fault} retry={reload} /> : <Loading />;
  return <>{children(data)}</>;
}

interface ListProps<Row> extends TableProps<Row> {
  readonly of: Loaded<unknown>;
  /** Shown when there are no rows. */
  readonly empty: ComponentChildren;
  readonly more?: MoreProps;
}

/** A loaded list as a table, or its empty state. An empty first page may be followed by a page with rows. */
export function List<Row>({ of, empty, more, ...table }: ListProps<Row>) {
  return (
    <>
      <Read of={of}>
        {() => (table.rows.length > 0 ? <Table {...table} /> : more?.hasMore ? <Loading /> : empty)}
      </Read>
      {more && <More {...more} />}
    </>
  );
}

/** The end of a list with further pages. The next page is read when the end is nearly visible. */
function More({ hasMore, isBusy, fault, onMore }: MoreProps) {
  const end = useRef<HTMLElement>(null);
  const read = useRef(onMore);
  read.current = onMore;
  const isWaiting = hasMore && !isBusy && fault === null;
  useEffect(() => {
    if (!isWaiting || !end.current) return;
    const near = (entries: IntersectionObserverEntry[]) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) read.current();
    };
    const observer = new IntersectionObserver(near, { rootMargin: "300px" });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [isWaiting]);
  if (!hasMore) return null;
  return (
    <footer ref={end}>
      <FaultNotice fault={fault} />
      <Button isSmall isBusy={isBusy} onClick={onMore}>
        Show more
      </Button>
    </footer>
  );
}

/** The most rows of a list that is rendered completely. */
const fewRows = 150;
/** The number of rows that are rendered above and below the visible rows. */
const margin = 20;
/** The steps in which the first rendered row changes, so that scrolling rarely renders. */
const step = 10;
const likelyHeight = 40;

/** The rendered rows of a long list, and the height of the rows that are not rendered. */
interface RowWindow {
  readonly body: RefObject<HTMLTableSectionElement | null>;
  readonly isPart: boolean;
  readonly first: number;
  readonly end: number;
  /** The height of the rows above, in pixels. */
  readonly above: number;
  readonly below: number;
}

/**
 * Renders only the visible rows of a long list. All rows have the same height. When rows are added above, the visible
 * rows keep their position.
 */
function useRowWindow(keys: readonly string[]): RowWindow {
  const body = useRef<HTMLTableSectionElement>(null);
  const [first, setFirst] = useState(0);
  const height = useRef(likelyHeight);
  const [inView, setInView] = useState(0);
  const before = useRef(keys);
  const isPart = keys.length > fewRows;

  const look = () => {
    if (!body.current) return;
    const row = body.current.querySelector("tr:not(.spacer)");
    height.current = row?.getBoundingClientRect().height || likelyHeight;
    const hidden = -body.current.getBoundingClientRect().top / height.current;
    setFirst(Math.max(0, Math.floor((hidden - margin) / step) * step));
    setInView(Math.ceil(innerHeight / height.current) + 2 * margin + step);
  };
  const latest = useRef(look);
  latest.current = look;

  useEffect(() => {
    if (!isPart) return;
    let frame = 0;
    const soon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => latest.current());
    };
    soon();
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    return () => {
      cancelAnimationFrame(frame);
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

  const start = isPart ? Math.min(first, Math.max(0, keys.length - inView)) : 0;
  const end = isPart ? Math.min(keys.length, start + (inView || fewRows)) : keys.length;
  return {
    body,
    isPart,
    first: start,
    end,
    above: start * height.current,
    below: (keys.length - end) * height.current,
  };
}

/**
 * Returns a component whose script is loaded when it is first shown, so that other pages do not load it. Without the
 * script, for example of a server that was upgraded, it shows an error. A page has this `head` until it has its script.
 */
export function later<Props extends object>(
  load: () => Promise<(props: Props) => ComponentChildren>,
  head?: ComponentProps<typeof Head>,
) {
  let Part: ((props: Props) => ComponentChildren) | undefined;
  return function Later(props: Props) {
    const loaded = useLoad(async () => {
      Part ??= await load().catch(() => undefined);
      // A script is empty if its connection was closed within the header of the response, for Chromium without TLS.
      if (!Part) {
        throw new Fault("This part of the page could not be loaded. Reload the page.", "unreachable", 0);
      }
    }, []);
    if (Part) return <Part {...props} />;
    return (
      <>
        {head && <Head {...head} />}
        {loaded.fault ? <FaultNotice fault={loaded.fault} retry={loaded.reload} /> : <Loading />}
      </>
    );
  };
}
