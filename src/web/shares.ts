/**
 * Returns whole numbers that are proportional to `values` and add up to `whole`: those with the largest remainders are
 * rounded up.
 */
export function addingUp(values: readonly number[], whole: number): number[] {
  const sum = values.reduce((total, value) => total + value, 0);
  if (sum === 0) return values.map(() => 0);
  const exact = values.map((value) => (value / sum) * whole);
  const rounded = exact.map(Math.floor);
  const missing = whole - rounded.reduce((total, value) => total + value, 0);
  const byRemainder = exact
    .map((value, i) => ({ i, remainder: value - Math.floor(value) }))
    .sort((a, b) => b.remainder - a.remainder);
  for (const { i } of byRemainder.slice(0, missing)) rounded[i] = (rounded[i] ?? 0) + 1;
  return rounded;
}

/** Formats sizes in one unit, so that they add up to the last one, which is their sum. */
export function sizesWithSum(bytes: readonly number[]): string[] {
  const sum = bytes.reduce((total, value) => total + value, 0);
  const [unit, tenth] = sum >= 1e10 ? ["GB", 1e8] : sum >= 1e7 ? ["MB", 1e5] : ["kB", 1e2];
  const whole = Math.round(sum / tenth);
  return [...addingUp(bytes, whole), whole].map((tenths) => `${(tenths / 10).toFixed(1)} ${unit}`);
}
