/*
 * Requests per second of the read endpoints of the executable, beside two yardsticks written by hand on `Bun.serve`
 * alone (support/yardstick-server.ts) and servers in other stacks (yardsticks): bun tests/bench/read.ts --help
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { describeGrowth, type Growth, measureGrowth } from "./read/growth.ts";
import { type Bench, measure, type Outcome } from "./read/measure.ts";
import { describe, describeMemory, peakOf } from "./read/report.ts";
import { etagOfPage, type WorkloadName, workloadNames, workloads } from "./read/workloads.ts";
import { copyOfData, filledPlatform, publicUrl } from "./support/filled.ts";
import { type Framework, frameworkDatabase, frameworks, installFrameworks } from "./support/frameworks.ts";
import { judgeMemory } from "./support/judge.ts";
import { builtExecutable, newToken, startOnAir } from "./support/onair.ts";
import {
  BenchError,
  benchDirectory,
  otherWork,
  requireMachine,
  residentBytes,
  runBench,
} from "./support/processes.ts";

const help = `Usage: bun tests/bench/read.ts [options]

  --users N          users in the data, up to 10,000,000 (default: 1000000)
  --seconds N        length of each run (default: 5)
  --rounds N         rounds that count, after one of warming up of at least 20 seconds (default: 3)
  --only NAMES       only these of ${workloadNames.slice(0, 3).join(", ")},
                     ${workloadNames.slice(3).join(", ")}, separated by commas
  --alone            without Fastify and Hono, and without the floors beside them
  --growth           instead of all that: what a request costs with 1,000, 1,000,000 and 10,000,000 users
  --sizes NUMBERS    other numbers of users for --growth, separated by commas
  --equal            with --growth: also for \`equal\`, which takes 16 GB of memory for ten million users
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON
  --check            exit with 1 when a floor is not met

On Air runs as in production; its log goes to /dev/null. Where a server did not have its core to itself, a floor is
judged by CPU time instead of requests per second. The platform of each size is kept in the directory for temporary
files for a week: 0.9 GB for a million users, 2.7 GB for ten million, which take some minutes to be made.
`;

const mostUsers = 10_000_000;
const restMs = 5_000;

function readOptions() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    options: {
      users: { ...text, default: "1000000" },
      seconds: { ...text, default: "5" },
      rounds: { ...text, default: "3" },
      only: { ...text, default: workloadNames.join() },
      alone: flag,
      growth: flag,
      equal: flag,
      sizes: { ...text, default: "1000,1000000,10000000" },
      executable: text,
      json: flag,
      check: flag,
      help: { ...flag, short: "h" },
    },
  });
  const number = (name: string, digits: string, most: number) => {
    const value = Number(digits);
    if (Number.isInteger(value) && value >= 1 && value <= most) return value;
    throw new BenchError(`--${name} must be integers from 1 to ${most}`);
  };
  const only = values.only.split(",");
  const unknown = only.find((name) => workloadNames.every((known) => known !== name));
  if (unknown !== undefined) throw new BenchError(`--only: there is no workload "${unknown}"`);
  return {
    ...values,
    only: only as WorkloadName[],
    users: number("users", values.users, mostUsers),
    sizes: [...new Set(values.sizes.split(",").map((size) => number("sizes", size, mostUsers)))].sort(
      (a, b) => a - b,
    ),
    pace: {
      seconds: number("seconds", values.seconds, 600),
      rounds: number("rounds", values.rounds, 100),
    },
  };
}

type Options = ReturnType<typeof readOptions>;
type Say = (line: string) => void;

/** The other stacks; none where they cannot be installed, which is said. */
async function availableFrameworks(options: Options, say: Say): Promise<readonly Framework[]> {
  if (options.alone) return [];
  const failure = await installFrameworks(say);
  if (failure === null) return frameworks;
  process.stderr.write(`\nWITHOUT FASTIFY AND HONO, BECAUSE ${failure}\n\n`);
  return [];
}

/** One that fails is told of and left out, and the others are measured all the same. */
async function measureAll(options: Options, executable: string, say: Say): Promise<Outcome[]> {
  const { users, only, pace } = options;
  const directory = benchDirectory();
  const available = await availableFrameworks(options, say);
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
    const wanted = floors.filter(({ of }) => !options.alone || frameworks.every((other) => other !== of));
    say(`Measuring ${workload.title}`);
    try {
      const outcome = await measure(bench, { ...workload, floors: wanted }, pace);
      outcomes.push(outcome);
      if (!options.json) process.stdout.write(`${describe(outcome)}\n`);
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
  const options = readOptions();
  if (options.help) return void process.stdout.write(help);
  requireMachine({ wrk: "wrk", taskset: "util-linux" });
  const say = (line: string) => void (options.json || process.stderr.write(`${line}\n`));
  const { pace, sizes, users } = options;
  const executable = options.executable === undefined ? await builtExecutable() : resolve(options.executable);
  const print = (text: string) => void (options.json || process.stdout.write(`${text}\n`));
  const json = (fields: object) => {
    if (options.json) process.stdout.write(`${JSON.stringify({ ...pace, log: "/dev/null", ...fields })}\n`);
  };
  const others = otherWork();
  let met: boolean;
  if (options.growth) {
    const directory = benchDirectory();
    const growth: Growth[] = await measureGrowth(
      sizes,
      { executable, directory, pace, withEqual: options.equal },
      say,
    );
    for (const one of growth) print(describeGrowth(one));
    json({ sizes, growth });
    met = growth.every(({ verdict }) => verdict?.met !== false);
  } else {
    const outcomes = await measureAll(options, executable, say);
    const memory = memoryOf(outcomes);
    print(describeMemory(memory));
    const results = outcomes.map(({ workload, ...rest }) => ({ name: workload.name, ...rest }));
    json({ users, memory, results });
    met = [...memory, ...outcomes.flatMap(({ verdicts }) => verdicts)].every((verdict) => verdict.met);
  }
  print(`Other programs took ${(others() * 100).toFixed(0)} % of the machine's time meanwhile.`);
  if (options.check && !met) process.exitCode = 1;
}

await runBench(main);
