/** Numbers from one to below another. */
export interface NumberRange {
  from: number;
  behind: number;
}

/**
 * What boundaries have moved over since they were `before`, in order and without overlap. null: everything below the
 * highest of them.
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
