/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = [sorted[middle - 1], sorted[middle]];
  return sorted.length % 2 === 1 ? high : (low + high) / 2;
}

/** The value below which this share of all lies; NaN where there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The median of each figure over the rounds. */
export function medians<Figures extends object>(
  rounds: readonly Figures[],
): Record<NumbersOf<Figures>, number> {
  const names = Object.keys(rounds[0] ?? {}) as (keyof Figures)[];
  return Object.fromEntries(
    names.map((name) => [name, median(rounds.map((round) => Number(round[name])))]),
  ) as Record<NumbersOf<Figures>, number>;
}

type NumbersOf<Figures> = {
  [Name in keyof Figures]: Figures[Name] extends number ? Name : never;
}[keyof Figures];

/** So many measurements, one after the other. */
export async function inRounds<T>(rounds: number, measure: (round: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  while (results.length < rounds) results.push(await measure(results.length));
  return results;
}

/** Lines of a table whose columns stand under each other; the first is to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, column) => Math.max(known[column] ?? 0, cell.length)),
    [],
  );
  return rows
    .map((row) =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))),
    )
    .map((cells) => cells.join("  ").trimEnd())
    .join("\n");
}

/** A goal of a benchmark, as a sentence with the figure, and whether it is met. */
export interface Goal {
  readonly text: string;
  readonly met: boolean;
}

interface Bound {
  /** The format of the figure and its bound; two decimals by default. */
  readonly as?: (value: number) => string;
  /** False if the measurement is invalid; the goal is then missed. */
  readonly counts?: boolean;
}

/** A figure that must be less than its bound. */
export function below(
  what: string,
  value: number,
  bound: number,
  { as = shown, counts = true }: Bound = {},
): Goal {
  return { text: `${what}: ${as(value)}, goal below ${as(bound)}`, met: counts && value < bound };
}

/** A figure that must reach its bound. */
export function atLeast(
  what: string,
  value: number,
  bound: number,
  { as = shown, counts = true }: Bound = {},
): Goal {
  return { text: `${what}: ${as(value)}, goal ${as(bound)}`, met: counts && value >= bound };
}

const shown = (value: number) => value.toFixed(2);

export const verdictOf = ({ text, met }: Goal) => `${met ? "met" : "NOT met"}: ${text}`;

/** A whole number with separators: 12,345. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** What never came to an end is infinite. */
export function milliseconds(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(2)} ms` : "never";
}

export const microseconds = (value: number) => `${value.toFixed(1)} µs`;

export const percent = (share: number) => `${(share * 100).toFixed(0)} %`;

export function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MB`;
}
