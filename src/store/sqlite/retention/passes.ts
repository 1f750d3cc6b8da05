/** Numbers from `from` to below `behind`. */
export interface NumberRange {
  from: number;
  behind: number;
}

/**
 * Returns the ranges over which boundaries have moved from `before` to `now`, in order and merged. With null, returns
 * everything below the highest boundary.
 */
export function passedOver(before: readonly number[] | null, now: readonly number[]): NumberRange[] {
  const ranges = now
    .map((behind, which) => ({ from: before?.[which] ?? 0, behind }))
    .filter(({ from, behind }) => from < behind)
    .sort((a, b) => a.from - b.from);
  const merged: NumberRange[] = [];
  for (const range of ranges) {
    const last = merged.at(-1);
    if (last && range.from <= last.behind) last.behind = Math.max(last.behind, range.behind);
    else merged.push(range);
  }
  return merged;
}
