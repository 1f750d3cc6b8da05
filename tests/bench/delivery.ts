/*
 * How fast events are taken and delivered, how promptly, and what a slow endpoint, a wide fan-out and a backlog do to
 * that: bun tests/bench/delivery.ts --help
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { unusedPort } from "../support/ports.ts";
import { backlog } from "./delivery/backlog.ts";
import { fanOut } from "./delivery/fan-out.ts";
import { hanging, latency } from "./delivery/latency.ts";
import { publish } from "./delivery/publish.ts";
import { readPath } from "./delivery/read-path.ts";
import { receivers } from "./delivery/receivers.ts";
import { retries } from "./delivery/retries.ts";
import type { Bench, Outcome, Section } from "./delivery/section.ts";
import { steady } from "./delivery/steady.ts";
import { throughput } from "./delivery/throughput.ts";
import { builtExecutable } from "./support/onair.ts";
import {
  BenchError,
  benchDirectory,
  otherWork,
  pinThisProcess,
  requireMachine,
  runBench,
  serverCore,
} from "./support/processes.ts";
import { table } from "./support/report.ts";

const sections: readonly Section[] = [
  throughput,
  receivers,
  publish,
  latency,
  steady,
  hanging,
  readPath,
  fanOut,
  backlog,
  retries,
];

const help = `Usage: bun tests/bench/delivery.ts [options]

  --only NAMES       only these of ${sections.map(({ name }) => name).join(", ")},
                     separated by commas
  --rounds N         rounds of each section, after one of warming up (default: 3); backlog and retries
                     have one
  --seconds N        length of a round, where it has one (default: 5)
  --backlog N        deliveries of the backlog (default: 1,000,000)
  --both-cores       let On Air and the bare loop run on both cores instead of on the first
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON
  --check            exit with 1 when a goal is not met

On Air runs as in production; its log goes to /dev/null. The second core has the load and the receiver. Figures are
medians of the rounds. A run takes some seven minutes and 2 GB in the directory for temporary files.
`;

function readOptions() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values } = parseArgs({
    options: {
      only: text,
      rounds: { ...text, default: "3" },
      seconds: { ...text, default: "5" },
      backlog: { ...text, default: "1000000" },
      "both-cores": flag,
      executable: text,
      json: flag,
      check: flag,
      help: flag,
    },
  });
  const number = (name: "rounds" | "seconds" | "backlog", most: number) => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= 1 && value <= most) return value;
    throw new BenchError(`--${name} must be an integer from 1 to ${most}`);
  };
  const numbers = {
    rounds: number("rounds", 100),
    seconds: number("seconds", 600),
    backlog: number("backlog", 1e8),
  };
  return { ...values, ...numbers };
}

function chosen(only: string | undefined): readonly Section[] {
  const names = only?.split(",") ?? sections.map(({ name }) => name);
  const unknown = names.find((name) => sections.every((section) => section.name !== name));
  if (unknown !== undefined) throw new BenchError(`--only: there is no section "${unknown}"`);
  return sections.filter(({ name }) => names.includes(name));
}

/** Where others take more of the machine than this, a section is disturbed. */
const undisturbed = 0.03;

interface Measured {
  readonly section: Section;
  readonly outcome: Outcome;
  /** Part of the machine's processor time that other processes took. */
  readonly others: number;
}

function describe({ section: { title }, outcome: { rows, goals }, others }: Measured): string {
  const verdicts = goals.map(({ text, met }) => `${met ? "met" : "NOT met"}: ${text}`);
  const part = `${(others * 100).toFixed(0)} %`;
  const warning = others > undisturbed ? [`Disturbed: other processes took ${part} of the machine`] : [];
  return [title, table(rows), ...verdicts, ...warning].join("\n");
}

async function main(): Promise<void> {
  const { rounds, seconds, only, executable, ...options } = readOptions();
  if (options.help) return void process.stdout.write(help);
  requireMachine({ taskset: "util-linux", openssl: "openssl" });
  pinThisProcess();
  const say = (line: string) => void (options.json || process.stderr.write(`${line}\n`));
  const bench: Bench = {
    executable: executable === undefined ? await builtExecutable() : resolve(executable),
    directory: benchDirectory(),
    receiverPort: await unusedPort(),
    serverCpus: options["both-cores"] ? "0,1" : String(serverCore),
    rounds,
    seconds,
    backlog: options.backlog,
    templates: new Set(),
    say,
  };
  const measured: Measured[] = [];
  let failed = false;
  for (const section of chosen(only)) {
    say(`Measuring ${section.name}`);
    const others = otherWork();
    try {
      const outcome = await section.measure(bench);
      const one = { section, outcome, others: others() };
      measured.push(one);
      if (!options.json) process.stdout.write(`${describe(one)}\n\n`);
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      failed = true;
      process.stderr.write(`${section.name} failed: ${error.message}\n`);
    }
  }
  if (options.json) {
    const results = measured.map(({ section: { name }, outcome: { figures, goals }, others }) => {
      return { name, goals, others, figures };
    });
    process.stdout.write(`${JSON.stringify({ rounds, seconds, serverCpus: bench.serverCpus, results })}\n`);
  }
  const missed = measured.some(({ outcome }) => outcome.goals.some(({ met }) => !met));
  if (failed || (options.check && missed)) process.exitCode = 1;
}

await runBench(main);
