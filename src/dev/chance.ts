/** A source of numbers from 0 (inclusive) to 1 (exclusive), like `Math.random`. */
export type Random = () => number;

/** Returns a generator with the same sequence for the same seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a random integer from `low` to `high`, both included. */
export function between(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

/** Returns a random item; all are equally likely. Throws a `RangeError` for an empty list. */
export function pick<T>(random: Random, items: readonly T[]): T {
  return weighted(random, items, () => 1);
}

/** Returns a random item by weight. Throws a `RangeError` when all weights are 0. */
export function weighted<T>(random: Random, items: readonly T[], weight: (item: T) => number): T {
  const possible = items.filter((item) => weight(item) > 0);
  let rest = random() * possible.reduce((sum, item) => sum + weight(item), 0);
  for (const item of possible) {
    rest -= weight(item);
    if (rest < 0) return item;
  }
  // Rounding errors leave a remainder, which counts for the last item.
  const last = possible.at(-1);
  if (last === undefined) throw new RangeError("there is nothing to choose from");
  return last;
}

/** Returns a number from about -3 to 3, approximately normally distributed. */
export function normalNumber(random: Random): number {
  return (random() + random() + random() + random() - 2) * Math.sqrt(3);
}
