/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `draws` ranks from 0 to below `size`, by Zipf's law with exponent 1: rank r is drawn in proportion to 1 / (r + 1). */
export function zipfRanks(size: number, draws: number, random: () => number): Uint32Array {
  const cumulated = new Float64Array(size);
  let sum = 0;
  for (let rank = 0; rank < size; rank++) {
    sum += 1 / (rank + 1);
    cumulated[rank] = sum;
  }
  return Uint32Array.from({ length: draws }, () => firstAbove(cumulated, random() * sum));
}

function firstAbove(ascending: Float64Array, value: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** `draws` distinct ranks from 0 to below `size`, each as likely as any other; all of them where there are no more. */
export function distinctRanks(size: number, draws: number, random: () => number): Uint32Array {
  const ranks = Uint32Array.from({ length: size }, (_, rank) => rank);
  const drawn = Math.min(size, draws);
  for (let i = 0; i < drawn; i++) {
    const other = i + Math.floor(random() * (size - i));
    const rank = ranks[other] ?? 0;
    ranks[other] = ranks[i] ?? 0;
    ranks[i] = rank;
  }
  return ranks.slice(0, drawn);
}

/** One of a list. */
export function pick<T>(list: readonly T[], random: () => number): T {
  return list[Math.floor(random() * list.length)] as T;
}
