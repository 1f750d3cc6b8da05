/*
 * Requests per second of the read endpoints of the executable, beside two yardsticks written by hand on `Bun.serve`
 * alone (support/yardstick-server.ts) and servers in other stacks (yardsticks): bun tests/bench/read.ts --help
 */
import { join } from "node:path";
import { type Bench, measure, type Outcome } from "./read/measure.ts";
import { describe, describeMemory, peakOf } from "./read/report.ts";
import { etagOfPage, type WorkloadName, workloadNames, workloads } from "./read/workloads.ts";
import { copyOfData, filledPlatform, publicUrl } from "./support/filled.ts";
import { type Framework, frameworkDatabase, frameworks, installFrameworks } from "./support/frameworks.ts";
import { judgeMemory } from "./support/judge.ts";
import { builtExecutable, newToken, startOnAir } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import {
  BenchError,
  benchDirectory,
  otherWork,
  requireMachine,
  residentBytes,
  runBench,
} from "./support/processes.ts";
import { say } from "./support/report.ts";
import type { Pace } from "./support/rounds.ts";

const help = `Usage: bun tests/bench/read.ts [options]

  --users N          users in the data, up to 10,000,000 (default: 1000000)
  --seconds N        length of each run (default: 5)
  --rounds N         rounds that count, after one of warming up of at least 20 seconds (default: 3)
  --only NAMES       only these of ${workloadNames.slice(0, 3).join(", ")},
                     ${workloadNames.slice(3).join(", ")}, separated by commas
  --alone            without Fastify and Hono, and without the floors beside them
  --executable FILE  measure this one instead of dist/onair
  --check            exit with 1 when a floor is not met

On Air runs as in production; its log goes to /dev/null. Where a server did not have its core to itself, a floor is
judged by CPU time instead of requests per second. The platform of each size is kept in the directory for temporary
files for a week: 0.9 GB for a million users, 2.7 GB for ten million, which take some minutes to be made.
`;

const restMs = 5_000;

/** The other stacks; none where they cannot be installed, which is said. */
async function availableFrameworks(): Promise<readonly Framework[]> {
  const failure = await installFrameworks();
  if (failure === null) return frameworks;
  process.stderr.write(`\nWITHOUT FASTIFY AND HONO, BECAUSE ${failure}\n\n`);
  return [];
}

interface Run {
  readonly users: number;
  readonly only: readonly WorkloadName[];
  readonly pace: Pace;
  /** Without the other stacks. */
  readonly alone: boolean;
  readonly executable: string;
}

/** One that fails is told of and left out, and the others are measured all the same. */
async function measureAll({ users, only, pace, alone, executable }: Run): Promise<Outcome[]> {
  const directory = benchDirectory();
  const available = alone ? [] : await availableFrameworks();
  const filled = await filledPlatform(users);
  const data = join(directory, "data");
  await copyOfData(filled, data);
  const onAir = await startOnAir(executable, data, directory, { args: ["--public-url", publicUrl] });
  await Bun.sleep(restMs);
  const idleBytes = residentBytes(onAir.pid);
  const token = await newToken(onAir);
  const database = join(directory, "yardsticks.db");
  if (available.length > 0) await frameworkDatabase(filled, onAir, { file: database, token });
  const bench: Bench = { filled, onAir, idleBytes, directory, frameworks: available, database };

  const all = workloads(users, token, await etagOfPage(onAir));
  const outcomes: Outcome[] = [];
  for (const name of only) {
    const { floors, ...workload } = all[name];
    const wanted = floors.filter(({ of }) => !alone || frameworks.every((other) => other !== of));
    say(`Measuring ${workload.title}`);
    try {
      const outcome = await measure(bench, { ...workload, floors: wanted }, pace);
      outcomes.push(outcome);
      process.stdout.write(`${describe(outcome)}\n`);
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      process.stderr.write(`${name} failed: ${error.message}\n`);
      process.exitCode = 1;
    }
  }
  await onAir.stop();
  return outcomes;
}

/** On Air's memory, idle and at its highest under any of the loads. */
function memoryOf(outcomes: readonly Outcome[]) {
  const mine = outcomes.flatMap(({ servers }) => servers.slice(0, 1));
  return judgeMemory(mine[0]?.idleBytes ?? Number.NaN, Math.max(...mine.map(peakOf)));
}

async function main(): Promise<void> {
  const { users, seconds, rounds, only, alone, check, executable } = readOptions(help, {
    numbers: {
      users: { default: 1_000_000, most: 10_000_000 },
      seconds: { default: 5, most: 600 },
      rounds: { default: 3, most: 100 },
    },
    texts: ["executable"],
    flags: ["alone", "check"],
    only: workloadNames,
  });
  requireMachine({ wrk: "wrk", taskset: "util-linux" });
  const others = otherWork();
  const outcomes = await measureAll({
    users,
    only: workloadNames.filter((name) => only.includes(name)),
    pace: { seconds, rounds },
    alone,
    executable: await builtExecutable(executable),
  });
  const memory = memoryOf(outcomes);
  process.stdout.write(`${describeMemory(memory)}\n`);
  process.stdout.write(
    `Other programs took ${(others() * 100).toFixed(0)} % of the machine's time meanwhile.\n`,
  );
  const verdicts = [...memory, ...outcomes.flatMap(({ verdicts }) => verdicts)];
  if (check && verdicts.some(({ met }) => !met)) process.exitCode = 1;
}

await runBench(main);
