import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { residentBytes } from "../support/processes.ts";
import { median, type Sample } from "./drift.ts";
import type { SoakLoad } from "./load.ts";

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
