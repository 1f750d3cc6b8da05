/** About the time of ten requests that are answered from memory. */
const sliceMs = 0.2;

/** Limits how long work of many small steps blocks the event loop: `if (slice.isOver) await slice.next()`. */
export class TimeSlice {
  #began = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#began >= sliceMs;
  }

  async next(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#began = performance.now();
  }
}

/** Makes what collects items, and hands those of one turn of the event loop over together at its end. */
export function inOneTurn<Item>(hand: (items: Item[]) => void): (item: Item) => void {
  let collected: Item[] = [];
  const handAll = () => {
    const items = collected;
    collected = [];
    hand(items);
  };
  return (item) => {
    if (collected.length === 0) setImmediate(handAll);
    collected.push(item);
  };
}

/** The value of a promise; null where it takes longer than `ms`. */
export async function inTime<Value>(promise: Promise<Value>, ms: number): Promise<Value | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
