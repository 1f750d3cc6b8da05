/** A position in an order: the last category that a client has seen. */
export interface Position {
  readonly viewers: number;
  readonly id: number;
}

/**
 * The order of categories at one time. It lists those with viewers: more viewers first, then lower id. All others
 * follow by id and are not listed. Immutable; 16 bytes for each listed category.
 */
export interface Order {
  /** Milliseconds since the epoch; unique in the process. */
  readonly takenAt: number;
  readonly ids: Float64Array;
  /** The viewers of the category at the same index of `ids`; above 0. */
  readonly viewers: Float64Array;
}

/** Whether two orders are equal. */
export function isSameOrder(a: Order, b: Order): boolean {
  return (
    a.ids.length === b.ids.length &&
    a.ids.every((id, i) => id === b.ids[i]) &&
    a.viewers.every((count, i) => count === b.viewers[i])
  );
}

/** Returns the index of the first listed category after a position. The category of the position need not be listed. */
export function indexAfter({ ids, viewers }: Order, position: Position): number {
  return firstIndex(ids.length, (i) => {
    const [theirs = 0, id = 0] = [viewers[i], ids[i]];
    return theirs < position.viewers || (theirs === position.viewers && id > position.id);
  });
}

/** Returns the first index at which `holds` is true, or `length`. It must be true for all following indexes, too. */
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
