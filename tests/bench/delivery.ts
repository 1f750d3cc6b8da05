/*
 * How fast events are taken and delivered, how promptly, and what a slow endpoint, a wide fan-out and a backlog do to
 * that: bun tests/bench/delivery.ts --help
 */
import { unusedPort } from "../support/ports.ts";
import { backlog } from "./delivery/backlog.ts";
import { fanOut } from "./delivery/fan-out.ts";
import { hanging, latency } from "./delivery/latency.ts";
import { publish } from "./delivery/publish.ts";
import { receivers } from "./delivery/receivers.ts";
import { retries } from "./delivery/retries.ts";
import type { Bench, Outcome, Section } from "./delivery/section.ts";
import { steady } from "./delivery/steady.ts";
import { throughput } from "./delivery/throughput.ts";
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
import { disturbance, table, verdictOf } from "./support/report.ts";

const sections: readonly Section[] = [
  throughput,
  receivers,
  publish,
  latency,
  steady,
  hanging,
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
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON
  --check            exit with 1 when a goal is not met

On Air runs as in production; its log goes to /dev/null. The second core has the load and the receiver. Figures are
medians of the rounds. A run takes some eight minutes and 2 GB in the directory for temporary files.
`;

interface Measured {
  readonly section: Section;
  readonly outcome: Outcome;
  /** Part of the machine's processor time that other processes took. */
  readonly others: number;
}

function describe({ section: { title }, outcome: { rows, goals }, others }: Measured): string {
  return [title, table(rows), ...goals.map(verdictOf), ...disturbance(others)].join("\n");
}

async function main(): Promise<void> {
  const { rounds, seconds, backlog, only, executable, json, check } = readOptions(help, {
    numbers: {
      rounds: { default: 3, most: 100 },
      seconds: { default: 5, most: 600 },
      backlog: { default: 1_000_000, most: 1e8 },
    },
    texts: ["executable"],
    flags: ["json", "check"],
    only: sections.map(({ name }) => name),
  });
  requireMachine({ taskset: "util-linux", openssl: "openssl" });
  pinThisProcess();
  const say = (line: string) => void (json || process.stderr.write(`${line}\n`));
  const bench: Bench = {
    executable: await builtExecutable(executable),
    directory: benchDirectory(),
    receiverPort: await unusedPort(),
    rounds,
    seconds,
    backlog,
    templates: new Set(),
    say,
  };
  const measured: Measured[] = [];
  let failed = false;
  for (const section of sections.filter(({ name }) => only.includes(name))) {
    say(`Measuring ${section.name}`);
    const others = otherWork();
    try {
      const outcome = await section.measure(bench);
      const one = { section, outcome, others: others() };
      measured.push(one);
      if (!json) process.stdout.write(`${describe(one)}\n\n`);
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      failed = true;
      process.stderr.write(`${section.name} failed: ${error.message}\n`);
    }
  }
  if (json) {
    const results = measured.map(({ section: { name }, outcome: { figures, goals }, others }) => {
      return { name, goals, others, figures };
    });
    process.stdout.write(`${JSON.stringify({ rounds, seconds, results })}\n`);
  }
  const missed = measured.some(({ outcome }) => outcome.goals.some(({ met }) => !met));
  if (failed || (check && missed)) process.exitCode = 1;
}

await runBench(main);
