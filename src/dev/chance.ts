/** Numbers from 0 up to 1, as `Math.random` gives them. */
export type Random = () => number;

/** The same row of numbers for the same seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An integer from `low` to `high`, both included. */
export function between(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

/** One of the items; all are equally likely. Throws a `RangeError` when there is none. */
export function pick<T>(random: Random, items: readonly T[]): T {
  return weighted(random, items, () => 1);
}

/** One of the items, the more likely the more it weighs. Throws a `RangeError` when all weigh nothing. */
export function weighted<T>(random: Random, items: readonly T[], weight: (item: T) => number): T {
  const possible = items.filter((item) => weight(item) > 0);
  let rest = random() * possible.reduce((sum, item) => sum + weight(item), 0);
  for (const item of possible) {
    rest -= weight(item);
    if (rest < 0) return item;
  }
  // Sums of fractions are not exact: what is left over belongs to the last.
  const last = possible.at(-1);
  if (last === undefined) throw new RangeError("there is nothing to choose from");
  return last;
}

/** From about -3 to 3, mostly near 0: a normal distribution, near enough. */
export function bell(random: Random): number {
  return (random() + random() + random() + random() - 2) * Math.sqrt(3);
}
