/** A place in an order: that of the last category a client has seen. */
export interface Position {
  readonly viewers: number;
  readonly id: number;
}

/**
 * The order of categories at one moment: those that were watched, more viewers first, then lower id. All others had no
 * viewers, so they follow by id and need not be written down. Never changes; 16 bytes for each watched category.
 */
export interface Order {
  /** Milliseconds since the epoch; no two orders of a process have the same. */
  readonly takenAt: number;
  readonly ids: Float64Array;
  /** Of the category at the same index of `ids`; above 0. */
  readonly viewers: Float64Array;
}

/** Whether two orders show the same. */
export function isSameOrder(a: Order, b: Order): boolean {
  return (
    a.ids.length === b.ids.length &&
    a.ids.every((id, i) => id === b.ids[i]) &&
    a.viewers.every((count, i) => count === b.viewers[i])
  );
}

/** Index of the first watched category behind a position; the one that stood there need not be in this order. */
export function indexAfter({ ids, viewers }: Order, position: Position): number {
  return firstIndex(ids.length, (i) => {
    const [theirs = 0, id = 0] = [viewers[i], ids[i]];
    return theirs < position.viewers || (theirs === position.viewers && id > position.id);
  });
}

/** The first index at which `holds`, which holds for all that follow; `length` where there is none. */
export function firstIndex(length: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
