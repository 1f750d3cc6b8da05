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
import type { Pace } from "./support/rounds.ts";

const help = `Usage: bun tests/bench/read.ts [options]

  --users N          users in the data, up to 10,000,000 (default: 1000000)
  --seconds N        length of each run (default: 5)
  --rounds N         rounds that count, after one of warming up of at least 20 seconds (default: 3)
  --only NAMES       only these of ${workloadNames.slice(0, 3).join(", ")},
                     ${workloadNames.slice(3).join(", ")}, separated by commas
  --alone            without Fastify and Hono, and without the floors beside them
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON
  --check            exit with 1 when a floor is not met

On Air runs as in production; its log goes to /dev/null. Where a server did not have its core to itself, a floor is
judged by CPU time instead of requests per second. The platform of each size is kept in the directory for temporary
files for a week: 0.9 GB for a million users, 2.7 GB for ten million, which take some minutes to be made.
`;

const restMs = 5_000;

type Say = (line: string) => void;

/** The other stacks; none where they cannot be installed, which is said. */
async function availableFrameworks(say: Say): Promise<readonly Framework[]> {
  const failure = await installFrameworks(say);
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
  readonly say: Say;
  readonly print: Say;
}

/** One that fails is told of and left out, and the others are measured all the same. */
async function measureAll({ users, only, pace, alone, executable, say, print }: Run): Promise<Outcome[]> {
  const directory = benchDirectory();
  const available = alone ? [] : await availableFrameworks(say);
  const filled = await filledPlatform(users, say);
  const data = join(directory, "data");
  await copyOfData(filled, data);
  const onAir = await startOnAir(executable, data, directory, { args: ["--public-url", publicUrl] });
  await Bun.sleep(restMs);
  const idleBytes = residentBytes(onAir.pid);
  const token = await newToken(onAir);
  const database = join(directory, "yardsticks.db");
  if (available.length > 0) await frameworkDatabase(filled, onAir, { file: database, token, say });
  const bench: Bench = { filled, onAir, idleBytes, directory, frameworks: available, database, say };

  const all = workloads(users, token, await etagOfPage(onAir));
  const outcomes: Outcome[] = [];
  for (const name of only) {
    const { floors, ...workload } = all[name];
    const wanted = floors.filter(({ of }) => !alone || frameworks.every((other) => other !== of));
    say(`Measuring ${workload.title}`);
    try {
      const outcome = await measure(bench, { ...workload, floors: wanted }, pace);
      outcomes.push(outcome);
      print(describe(outcome));
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
  const { users, seconds, rounds, only, alone, json, check, executable } = readOptions(help, {
    numbers: {
      users: { default: 1_000_000, most: 10_000_000 },
      seconds: { default: 5, most: 600 },
      rounds: { default: 3, most: 100 },
    },
    texts: ["executable"],
    flags: ["alone", "json", "check"],
    only: workloadNames,
  });
  requireMachine({ wrk: "wrk", taskset: "util-linux" });
  const say = (line: string) => void (json || process.stderr.write(`${line}\n`));
  const print = (text: string) => void (json || process.stdout.write(`${text}\n`));
  const others = otherWork();
  const pace = { seconds, rounds };
  const outcomes = await measureAll({
    users,
    only: workloadNames.filter((name) => only.includes(name)),
    pace,
    alone,
    executable: await builtExecutable(executable),
    say,
    print,
  });
  const memory = memoryOf(outcomes);
  print(describeMemory(memory));
  print(`Other programs took ${(others() * 100).toFixed(0)} % of the machine's time meanwhile.`);
  if (json) {
    const results = outcomes.map(({ workload, ...rest }) => ({ name: workload.name, ...rest }));
    process.stdout.write(`${JSON.stringify({ ...pace, log: "/dev/null", users, memory, results })}\n`);
  }
  const verdicts = [...memory, ...outcomes.flatMap(({ verdicts }) => verdicts)];
  if (check && verdicts.some(({ met }) => !met)) process.exitCode = 1;
}

await runBench(main);
