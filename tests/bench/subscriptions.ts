/*
 * What it takes to list, create and delete the subscriptions of an application that has many, over HTTP and beside a
 * bare commit on the same disk: bun tests/bench/subscriptions.ts --help
 */
import { join } from "node:path";
import { type Lists, measure, type Options, type Writes } from "./subscriptions/measure.ts";
import { builtExecutable, startOnAir } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import { benchDirectory, otherWork, pinThisProcess, requireMachine, runBench } from "./support/processes.ts";
import { milliseconds, table, whole } from "./support/report.ts";
import { percentile } from "./support/rounds.ts";

const help = `Usage: bun tests/bench/subscriptions.ts [options]

  --subscriptions N  of the application with the most, in twenties (default: 10000)
  --others N         further applications with as many, mixed with these in the database (default: 9)
  --rounds N         measurements of each kind that count, after a tenth as many of warming up (default: 200)
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON
  --check            exit with 1 when a list takes 20 ms (p99), holds up others for 10 ms (p99), or a creation takes
                     1 ms more than a bare commit (median)

On Air runs on one core, this process on the other. A bare commit is one row in a database of its own with
synchronous=FULL; one is made after every creation, so that both find the disk in the same state.
`;

const goal = { listMs: 20, heldUpMs: 10, beyondCommitMs: 1 } as const;

const beyondCommit = ({ create, commit }: Writes) => percentile(create, 0.5) - percentile(commit, 0.5);

function reportOf({ subscriptions }: Options, lists: Lists, writes: readonly Writes[]): string {
  const cells = (values: readonly number[]) =>
    [0.5, 0.99, 1].map((share) => milliseconds(percentile(values, share)));
  const commits = writes.flatMap(({ commit }) => commit);
  const rows = [
    ["", "p50", "p99", "longest", "p50 beyond the commit"],
    [
      `list of ${whole(subscriptions)} (${(lists.bytes / 1e6).toFixed(1)} million bytes)`,
      ...cells(lists.list),
      "",
    ],
    ["processor time of one", milliseconds(lists.cpuMs), "", "", ""],
    ["longest Get User during one", ...cells(lists.during), ""],
    ["longest Get User in as much time without", ...cells(lists.without), ""],
    ["bare commit", ...cells(commits), ""],
    ...writes.map((one) => [
      `create ${one.events} beside ${whole(one.existing)}`,
      ...cells(one.create),
      milliseconds(beyondCommit(one)),
    ]),
    ...writes.map((one) => [
      `delete ${one.events} of ${whole(one.existing + one.events)}`,
      ...cells(one.remove),
      milliseconds(percentile(one.remove, 0.5) - percentile(one.commit, 0.5)),
    ]),
  ];
  return table(rows);
}

/** Which goals were missed. */
function missed(lists: Lists, writes: readonly Writes[]): string[] {
  const list = percentile(lists.list, 0.99);
  const heldUp = percentile(lists.during, 0.99);
  const singles = writes.filter(({ events }) => events === 1);
  return [
    ...(list < goal.listMs ? [] : [`a list takes ${milliseconds(list)} (p99), goal ${goal.listMs} ms`]),
    ...(heldUp < goal.heldUpMs
      ? []
      : [`a list holds up others for ${milliseconds(heldUp)} (p99), goal ${goal.heldUpMs} ms`]),
    ...singles
      .filter((one) => beyondCommit(one) >= goal.beyondCommitMs)
      .map(
        (one) =>
          `creating one beside ${whole(one.existing)} takes ${milliseconds(beyondCommit(one))} beyond the commit (p50), goal ${goal.beyondCommitMs} ms`,
      ),
  ];
}

async function main(): Promise<void> {
  const { executable, json, check, ...given } = readOptions(help, {
    numbers: {
      subscriptions: { default: 10_000, least: 20 },
      others: { default: 9, least: 0 },
      rounds: { default: 200 },
    },
    texts: ["executable"],
    flags: ["json", "check"],
  });
  const options: Options = { ...given, subscriptions: given.subscriptions - (given.subscriptions % 20) };
  requireMachine({ taskset: "util-linux" });
  const directory = benchDirectory();
  const file = await builtExecutable(executable);
  pinThisProcess();
  const others = otherWork();
  const onAir = await startOnAir(file, join(directory, "data"), directory);
  const { lists, writes } = await measure(onAir, directory, options);
  await onAir.stop();
  const shareOfOthers = others();
  const failures = missed(lists, writes);
  if (json) process.stdout.write(`${JSON.stringify({ ...options, shareOfOthers, lists, writes })}\n`);
  else {
    process.stdout.write(`${reportOf(options, lists, writes)}\n`);
    process.stdout.write(`Other work used ${(shareOfOthers * 100).toFixed(0)} % of the machine.\n`);
    for (const failure of failures) process.stdout.write(`missed: ${failure}\n`);
  }
  if (check && failures.length > 0) process.exitCode = 1;
}

await runBench(main);
