import { BenchError, type Server } from "./processes.ts";
import type { Load, Run } from "./wrk.ts";

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

/** The runs of one server, one for each round. */
export interface Measured {
  readonly name: string;
  readonly runs: readonly Run[];
}

/** A server, and what it is loaded with. */
export interface Contender {
  readonly name: string;
  readonly server: Server;
  readonly load: Load;
}

/** So long On Air is being compiled under load, and its caches fill. */
const warmUpSeconds = 20;

/** How often and for how long each server is loaded. */
export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
}

/** Loads the servers in turn, `rounds` times after one round of warming up that does not count. */
export async function measureInTurn(
  contenders: readonly Contender[],
  { rounds, seconds }: Pace,
): Promise<Measured[]> {
  const measured = contenders.map(({ name }) => ({ name, runs: [] as Run[] }));
  for (let round = 0; round <= rounds; round++) {
    for (const [i, { server, load }] of contenders.entries()) {
      const warmUp = round === 0;
      const run = await load(server, warmUp ? Math.max(seconds, warmUpSeconds) : seconds);
      if (!warmUp) measured[i]?.runs.push(run);
    }
  }
  return measured;
}

/** Node's and Fastify's own headers are a part of a short answer; a 304 or half a page would be less than that. */
const sizeTolerance = 0.2;

/**
 * Catches answers that are not what they were before the load, such as 304s, which wrk does not tell apart: the mean
 * answer of the servers must be of about the same size.
 */
export function requireSameAnswers(measured: readonly Measured[]): void {
  const sizes = measured.map(({ runs }) => median(runs.map((run) => run.bytesPerAnswer)));
  if (Math.max(...sizes) <= Math.min(...sizes) * (1 + sizeTolerance)) return;
  const shown = measured.map(({ name }, i) => `${name} ${sizes[i]?.toFixed(0)}`).join(", ");
  throw new BenchError(`The servers did not answer the same; mean bytes: ${shown}`);
}

/** The median of a figure over the rounds. */
export function medianOf({ runs }: Measured, figure: keyof Run): number {
  return median(runs.map((run) => run[figure]));
}

/** How one server compares to another, round by round; 1 is as good, less is worse. */
export interface Ratio {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

export function ratioOf(
  one: Measured,
  other: Measured,
  figure: "requestsPerSecond" | "cpuMicroseconds",
): Ratio {
  const ratios = one.runs.map((run, round) => {
    const [mine, theirs] = [run[figure], other.runs[round]?.[figure] ?? Number.NaN];
    return figure === "requestsPerSecond" ? mine / theirs : theirs / mine;
  });
  return { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
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

/** A ratio with its range over the rounds: 0.82 (0.79 to 0.84). */
export function ratio({ median, lowest, highest }: Ratio): string {
  return `${median.toFixed(2)} (${lowest.toFixed(2)} to ${highest.toFixed(2)})`;
}
