/*
 * On Air on PostgreSQL, alone and as several replicas, beside SQLite and Fastify: bun tests/bench/replicas.ts --help
 */
import { measureReads } from "./replicas/reads.ts";
import type { Part, Setting } from "./replicas/report.ts";
import { measureSeveral } from "./replicas/several.ts";
import { measureShares } from "./replicas/shares.ts";
import { measureStores } from "./replicas/stores.ts";
import { installFrameworks } from "./support/frameworks.ts";
import { builtExecutable } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import {
  BenchError,
  benchDirectory,
  otherWork,
  pinThisProcess,
  requireMachine,
  runBench,
} from "./support/processes.ts";
import { disturbance, verdictOf } from "./support/report.ts";

const help = `Usage: bun tests/bench/replicas.ts [options]

  --only PARTS       of stores, replicas, reads and shares, with commas between (default: all)
  --rounds N         rounds of each store or number of replicas (default: 3)
  --events N         events of a round of the stores (default: 20000)
  --publishers N     publishers, each of which sends its next event when the last is acknowledged (default: 64)
  --seconds N        how long two replicas are published to (default: 20)
  --kills N          how often one of them is killed (default: 3)
  --users N          users of which reads are (default: 100000)
  --read-seconds N   how long a round of reads or of shares takes (default: 5)
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON
  --check            exit with 1 when a goal is not met

stores    Events of 650 bytes are published one by one and delivered to one endpoint, on SQLite and on PostgreSQL, whose
          commits are synced. All are on both cores, the publishers and the receiver on the second one. Processor time is
          On Air's and the database's together.
replicas  200 events a second are published to two replicas in turn, for endpoints of which each owns some; and one of
          them is killed.
reads     Get User of users that are drawn uniformly, on SQLite, on PostgreSQL, and on Fastify with pg. A server and its
          database share a core. Needs wrk and npm.
shares    1, 2 and 4 replicas, each held to a quarter of a core; the database, the load and the receiver are on the other
          core. Needs wrk, and root for the control groups.
`;

const parts = ["stores", "replicas", "reads", "shares"] as const;
type PartName = (typeof parts)[number];

function read() {
  return readOptions(help, {
    numbers: {
      rounds: { default: 3, most: 100 },
      events: { default: 20_000, most: 1_000_000 },
      publishers: { default: 64, most: 1_000 },
      seconds: { default: 20, most: 3_600 },
      kills: { default: 3, most: 1_000 },
      users: { default: 100_000, most: 10_000_000 },
      "read-seconds": { default: 5, most: 600 },
    },
    texts: ["executable"],
    flags: ["json", "check"],
    only: parts,
  });
}

type Options = ReturnType<typeof read>;

const measures: Record<PartName, (setting: Setting, options: Options) => Promise<Part>> = {
  stores: measureStores,
  replicas: measureSeveral,
  reads: measureReads,
  shares: measureShares,
};

async function main(): Promise<void> {
  const options = read();
  const { only, json, check } = options;
  const isReading = only.includes("reads") || only.includes("shares");
  requireMachine({ taskset: "util-linux", ...(isReading && { wrk: "wrk" }) });
  if (only.includes("reads")) {
    const missing = await installFrameworks((line) => process.stderr.write(`${line}\n`));
    if (missing !== null) throw new BenchError(missing);
  }
  pinThisProcess();
  const executable = await builtExecutable(options.executable);
  const setting = { executable, directory: benchDirectory() };
  const others = otherWork();
  const found = new Map<PartName, Part>();
  for (const name of parts.filter((part) => only.includes(part)))
    found.set(name, await measures[name](setting, options));
  report(found, others(), json);
  if (check && [...found.values()].some(({ goals }) => goals.some(({ met }) => !met))) process.exitCode = 1;
}

function report(found: ReadonlyMap<PartName, Part>, others: number, json: boolean): void {
  if (json) {
    const figures = Object.fromEntries(
      [...found].map(([name, { goals, figures }]) => [name, { goals, figures }]),
    );
    return void process.stdout.write(`${JSON.stringify({ others, ...figures })}\n`);
  }
  for (const { table, goals } of found.values()) {
    process.stdout.write(`${[table, ...goals.map(verdictOf)].join("\n")}\n\n`);
  }
  for (const line of disturbance(others)) process.stdout.write(`${line}\n`);
}

await runBench(main);
