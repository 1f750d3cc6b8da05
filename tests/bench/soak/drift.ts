import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { residentBytes } from "../support/processes.ts";
import { median as middle } from "../support/report.ts";
import type { SoakLoad } from "./load.ts";

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

const shortestMs = 5_000;
/** All pairs of samples are compared. */
const mostSamples = 1_000;
const megabyte = 2 ** 20;

interface Sampling {
  readonly pid: number;
  readonly data: string;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly say: (line: string) => void;
}

/** Looks at a server under load every few seconds, after its time of warming up. */
export async function sampled(
  load: SoakLoad,
  { pid, data, seconds, warmUpSeconds, say }: Sampling,
): Promise<Sample[]> {
  await Bun.sleep(warmUpSeconds * 1_000);
  load.takeLatencies();
  const everyMs = Math.max(shortestMs, (seconds * 1_000) / mostSamples);
  const samples: Sample[] = [];
  const startedAt = performance.now();
  let saidAt = startedAt;
  while (performance.now() - startedAt < seconds * 1_000) {
    await Bun.sleep(everyMs);
    const latencies = load.takeLatencies();
    const now = performance.now();
    const values: Record<string, number | undefined> = {
      memory: residentBytes(pid) / megabyte,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      database: size(join(data, "onair.db")) / megabyte,
      "log of the database": size(join(data, "onair.db-wal")) / megabyte,
    };
    for (const [name, times] of latencies) values[name] = times.length === 0 ? undefined : median(times);
    samples.push({ seconds: (now - startedAt) / 1_000, values });
    if (now - saidAt < 60_000) continue;
    saidAt = now;
    const shown = Object.entries(values).map(([name, value]) => `${name} ${value?.toFixed(1)}`);
    say(`after ${((now - startedAt) / 60_000).toFixed(0)} min: ${shown.join(", ")}`);
  }
  return samples;
}

const size = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
