import type { Random } from "../../src/dev/chance.ts";

/**
 * `draws` ranks from 0 to below `size`, by Zipf's law with exponent 1: rank r is drawn in proportion to 1 / (r + 1).
 */
export function zipfRanks(size: number, draws: number, random: Random): Uint32Array {
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
export function distinctRanks(size: number, draws: number, random: Random): Uint32Array {
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
