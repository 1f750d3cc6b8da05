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

/** What a benchmark is to reach, in words with the figure, and whether it does. */
export interface Goal {
  readonly text: string;
  readonly met: boolean;
}

export const verdictOf = ({ text, met }: Goal) => `${met ? "met" : "NOT met"}: ${text}`;

/** Where others take more of the machine than this, a measurement is disturbed. */
const undisturbed = 0.03;

/** Says so where other processes took too much of the machine: their `share` of its processor time. */
export function disturbance(share: number): string[] {
  return share > undisturbed
    ? [`Disturbed: other processes took ${(share * 100).toFixed(0)} % of the machine`]
    : [];
}

/** A whole number with separators: 12,345. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** What never came to an end is infinite. */
export function milliseconds(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(2)} ms` : "never";
}

export function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MB`;
}

/** A ratio with its range over the rounds: 0.82 (0.79 to 0.84). */
export function ratio({ median, lowest, highest }: Ratio): string {
  return `${median.toFixed(2)} (${lowest.toFixed(2)} to ${highest.toFixed(2)})`;
}
