import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import type { Loaded } from "../load.ts";
import { Button, Empty, FaultNotice } from "./basics.tsx";

export interface Column<Row> {
  readonly name: string;
  readonly show: (row: Row) => ComponentChildren;
  /** Whether it holds numbers, which stand at the right. */
  readonly isNumber?: boolean;
  /** Whether it takes what the other columns leave, and its text is cut there. */
  readonly isFilling?: boolean;
  /** Left out where the window is narrow or of medium width. */
  readonly hide?: "narrow" | "medium";
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The page of a row, which a click anywhere in it opens; one of its cells should link to it, too. */
  readonly linkOf?: (row: Row) => string;
  readonly isFresh?: (row: Row) => boolean;
}

export function Table<Row>({ label, columns, rows, keyOf, linkOf, isFresh }: TableProps<Row>) {
  const { route } = useLocation();
  const classOf = ({ isNumber, isFilling, hide }: Column<Row>) =>
    [isNumber && "number", isFilling && "fill", hide && `hide-${hide}`].filter(Boolean).join(" ");
  const open = (event: MouseEvent, row: Row) => {
    const target = event.target as HTMLElement;
    if (linkOf && !target.closest("a, button, input") && !getSelection()?.toString()) route(linkOf(row));
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.name || <span class="visually-hidden">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              class={`${linkOf ? "linked" : ""} ${isFresh?.(row) ? "fresh" : ""}`}
              onClick={(event) => open(event, row)}
            >
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What stands around a list: why it could not be read, that it is being read, or that it is empty. */
export function ListState({
  of: { data, fault, isLoading, reload },
  isEmpty,
  empty,
  children,
}: {
  of: Pick<Loaded<unknown>, "data" | "fault" | "isLoading" | "reload">;
  isEmpty: boolean;
  empty: ComponentChildren;
  children: ComponentChildren;
}) {
  if (fault && data === null) return <FaultNotice fault={fault} retry={reload} />;
  if (data === null && isLoading) return <Empty title="Loading…" />;
  return isEmpty ? empty : children;
}

/** The end of a list that has more. */
export function More({ hasMore, isBusy, onMore }: { hasMore: boolean; isBusy: boolean; onMore: () => void }) {
  if (!hasMore) return null;
  return (
    <footer>
      <Button isSmall isBusy={isBusy} onClick={onMore}>
        Show more
      </Button>
    </footer>
  );
}
