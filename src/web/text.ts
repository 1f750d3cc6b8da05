/** Letters that are written from right to left (Hebrew, Arabic and their like), and characters that turn the text. */
const turning =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * Returns a name for a text that cannot hold elements, such as a title or an accessible name. A name that is written
 * from right to left, or has characters that turn the text, is isolated, so that it does not reorder the text around it
 * (Unicode UAX #9: FSI and PDI). Where elements are possible, `<bdi>` does that.
 */
export function isolated(name: string): string {
  if (!turning.test(name)) return name;
  // A surplus PDI in the name would end the isolation, and a surplus opening character would swallow the closing PDI.
  return `\u2068${name.replace(/[\u202a-\u202e\u2066-\u2069]/g, "")}\u2069`;
}

/** The most characters of a name in a sentence. */
const longestName = 48;

/** Returns a name for a sentence, such as a question or a report: isolated, and cut at its end. */
export function inText(name: string): string {
  const characters = [...name];
  if (characters.length <= longestName) return isolated(name);
  return isolated(`${characters.slice(0, longestName - 1).join("")}…`);
}

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
