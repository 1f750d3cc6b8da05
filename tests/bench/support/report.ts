import type { Ratio } from "./rounds.ts";

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

/** A ratio with its range over the rounds: 0.82 (0.79 to 0.84). */
export function ratio({ median, lowest, highest }: Ratio): string {
  return `${median.toFixed(2)} (${lowest.toFixed(2)} to ${highest.toFixed(2)})`;
}
