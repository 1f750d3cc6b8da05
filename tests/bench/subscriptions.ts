/*
 * The time to list, create and delete subscriptions of an application that has many, over HTTP and compared with a bare
 * commit on the same disk: bun tests/bench/subscriptions.ts --help
 */
import { type Lists, measure, type Writes } from "./subscriptions/measure.ts";
import { benchmark } from "./support/bench.ts";
import { startOnAir } from "./support/onair.ts";
import { below, milliseconds, table, whole } from "./support/report.ts";
import { median, percentile } from "./support/rounds.ts";

const about = `
On Air runs on one core, this process on the other. Nine further applications have as many subscriptions, interleaved with
these in the database. A bare commit is one row in a separate database with synchronous=FULL. One follows every creation, so
that both meet the disk in the same state.
`;

const goal = { listMs: 20, heldUpMs: 10, beyondCommitMs: 1 } as const;

const beyond = (commit: readonly number[], took: readonly number[]) => median(took) - median(commit);
const cells = (values: readonly number[]) =>
  [0.5, 0.99, 1].map((share) => milliseconds(percentile(values, share)));

function tableOf(subscriptions: number, lists: Lists, writes: readonly Writes[]): string {
  return table([
    [
      `List of ${whole(subscriptions)}, ${whole(lists.bytes)} bytes`,
      "p50",
      "p99",
      "longest",
      "p50 beyond the commit",
    ],
    ["the list", ...cells(lists.list), ""],
    ["processor time of one", milliseconds(lists.cpuMs), "", "", ""],
    ["longest Get User during one", ...cells(lists.during), ""],
    ["longest Get User in as much time without", ...cells(lists.without), ""],
    ["bare commit", ...cells(writes.flatMap(({ commit }) => commit)), ""],
    ...writes.map(({ events, existing, create, commit }) => [
      `create ${events} beside ${whole(existing)}`,
      ...cells(create),
      milliseconds(beyond(commit, create)),
    ]),
    ...writes.map(({ events, existing, remove, commit }) => [
      `delete ${events} of ${whole(existing + events)}`,
      ...cells(remove),
      milliseconds(beyond(commit, remove)),
    ]),
  ]);
}

await benchmark(
  {
    about,
    options: {
      subscriptions: { default: 10_000, least: 20, help: "of the application, in twenties" },
      rounds: { default: 200, help: "measurements of each kind, after a tenth as many of warming up" },
    },
    ofExecutable: true,
    pinned: true,
  },
  async (bench, options) => {
    const subscriptions = options.subscriptions - (options.subscriptions % 20);
    const onAir = await startOnAir(bench);
    await bench.measure("subscriptions", async () => {
      const { lists, writes } = await measure(onAir, bench.directory, { ...options, subscriptions });
      const as = milliseconds;
      return {
        shown: tableOf(subscriptions, lists, writes),
        figures: { lists, writes },
        goals: [
          below("a list, p99", percentile(lists.list, 0.99), goal.listMs, { as }),
          below("others held up by a list, p99", percentile(lists.during, 0.99), goal.heldUpMs, { as }),
          ...writes
            .filter(({ events }) => events === 1)
            .map(({ existing, create, commit }) =>
              below(
                `creating one beside ${whole(existing)}, beyond the commit`,
                beyond(commit, create),
                goal.beyondCommitMs,
                { as },
              ),
            ),
        ],
      };
    });
    await onAir.stop();
  },
);
