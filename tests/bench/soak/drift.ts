import { median as middle } from "../support/rounds.ts";

/** What is looked at every few seconds; undefined where nothing was to be measured in between. */
export interface Sample {
  /** Since the begin of the measurement. */
  readonly seconds: number;
  readonly values: Readonly<Record<string, number | undefined>>;
}

interface Metric {
  readonly name: string;
  readonly unit: string;
  /** What it may rise over the run: a share of where it begins, and what is noise however small that is. */
  readonly share: number;
  readonly noise: number;
}

/** Latencies are medians of what happened between two samples, because those of a busy machine have no steady tail. */
const metrics: readonly Metric[] = [
  { name: "memory", unit: "MB", share: 0.1, noise: 8 },
  { name: "descriptors", unit: "", share: 0.1, noise: 5 },
  { name: "database", unit: "MB", share: 0.1, noise: 4 },
  { name: "log of the database", unit: "MB", share: 0.1, noise: 8 },
  { name: "Get User", unit: "ms", share: 0.5, noise: 1 },
  { name: "search", unit: "ms", share: 0.5, noise: 2 },
  { name: "publishing", unit: "ms", share: 0.5, noise: 3 },
  { name: "publishing to arrival", unit: "ms", share: 0.5, noise: 5 },
  { name: "publishing to a stream", unit: "ms", share: 0.5, noise: 5 },
];

interface Drift {
  readonly name: string;
  readonly unit: string;
  /** Medians of the first and the last fifth. */
  readonly first: number;
  readonly last: number;
  /** By how much it rose over the run, by its slope. */
  readonly drift: number;
  readonly limit: number;
  readonly isFlat: boolean;
}

/** How each metric moved over the run. Falling is flat. */
export function drifts(samples: readonly Sample[]): Drift[] {
  return metrics.map(({ name, unit, share, noise }) => {
    const points = samples.flatMap(({ seconds, values }) => {
      const value = values[name];
      return value === undefined ? [] : [{ seconds, value }];
    });
    const fifth = Math.max(1, Math.floor(points.length / 5));
    const first = median(points.slice(0, fifth).map(({ value }) => value));
    const last = median(points.slice(-fifth).map(({ value }) => value));
    const span = (points.at(-1)?.seconds ?? 0) - (points[0]?.seconds ?? 0);
    const drift = slope(points) * span;
    const limit = Math.max(first * share, noise);
    return { name, unit, first, last, drift, limit, isFlat: drift <= limit };
  });
}

interface Point {
  readonly seconds: number;
  readonly value: number;
}

/** The rise a second: the median of the slopes between all pairs (Theil and Sen), which outliers do not move. */
export function slope(points: readonly Point[]): number {
  const slopes: number[] = [];
  for (const [i, from] of points.entries()) {
    for (const to of points.slice(i + 1)) slopes.push((to.value - from.value) / (to.seconds - from.seconds));
  }
  return median(slopes);
}

/** 0 of nothing. */
export const median = (values: readonly number[]) => (values.length === 0 ? 0 : middle(values));
