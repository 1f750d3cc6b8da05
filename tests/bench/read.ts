import { join } from "node:path";
import { availableFrameworks, frameworkDatabase, frameworks } from "./read/frameworks.ts";
import {
  type Comparisons,
  describe,
  measure,
  peakOf,
  type Setting,
  workloadNames,
  workloads,
} from "./read/measure.ts";
import { type Bench, benchmark } from "./support/bench.ts";
import { mostIdleBytes, newToken, startOnAir } from "./support/onair.ts";
import { copyOfData, filledPlatform, publicUrl } from "./support/platform.ts";
import { residentBytes } from "./support/processes.ts";
import { below, megabytes } from "./support/report.ts";

/*
 * Requests per second of the executable's read endpoints, compared with servers in other stacks (yardsticks):
 * bun tests/bench/read.ts --help
 */

const about = `
On Air runs as in production, with its log in /dev/null. If a server did not have its core to itself, goals compare CPU time
instead of requests per second. The platform of each size is kept for a week in the directory for temporary files: 0.9 GB
for a million users, and 2.7 GB for ten million, which take some minutes to create.
`;

const restMs = 5_000;
const mostLoadedBytes = 200 * 2 ** 20;

interface Options {
  readonly users: number;
  readonly alone: boolean;
}

/** Starts On Air on a filled platform; `token` is one of its access tokens. */
async function prepare(bench: Bench, { users, alone }: Options) {
  const { directory, say } = bench;
  const available = alone ? [] : await availableFrameworks(say);
  const filled = await filledPlatform(users, say);
  await copyOfData(filled, join(directory, "data"));
  const onAir = await startOnAir(bench, { args: ["--public-url", publicUrl] });
  await Bun.sleep(restMs);
  const idleBytes = residentBytes(onAir.pid);
  const token = await newToken(onAir);
  const database = join(directory, "yardsticks.db");
  if (available.length > 0) await frameworkDatabase(filled, onAir, { file: database, token, say });
  const setting: Setting = { onAir, idleBytes, directory, frameworks: available, database };
  return { setting, all: workloads(users, token) };
}

await benchmark(
  {
    about,
    options: {
      users: { default: 1_000_000, most: 10_000_000, help: "users in the data" },
      seconds: { default: 5, most: 600, help: "length of each run" },
      rounds: { default: 3, most: 100, help: "rounds that count, after one of warming up of 20 seconds" },
      alone: { default: false, help: "without Fastify and Hono, and without the goals beside them" },
    },
    parts: workloadNames,
    needs: ["wrk"],
    ofExecutable: true,
  },
  async (bench, options) => {
    const { setting, all } = await prepare(bench, options);
    const measured: Comparisons[] = [];
    for (const name of workloadNames.filter((name) => bench.only.includes(name))) {
      const { floors, ...workload } = all[name];
      const wanted = floors.filter(({ of }) => !options.alone || frameworks.every((other) => other !== of));
      bench.say(`Measuring ${workload.title}`);
      await bench.measure(name, async () => {
        const one = await measure(setting, { ...workload, floors: wanted }, options);
        measured.push(one);
        const { servers, comparisons, share, goals } = one;
        return { shown: describe(one), figures: { servers, comparisons, share }, goals };
      });
    }
    await setting.onAir.stop();
    const loadedBytes = Math.max(...measured.flatMap(({ servers }) => servers.slice(0, 1)).map(peakOf));
    const { idleBytes } = setting;
    await bench.measure("memory", async () => ({
      shown: "Memory of On Air",
      figures: { idleBytes, loadedBytes },
      goals: [
        below("at rest", idleBytes, mostIdleBytes, { as: megabytes }),
        below("at most under load", loadedBytes, mostLoadedBytes, { as: megabytes }),
      ],
    }));
  },
);
