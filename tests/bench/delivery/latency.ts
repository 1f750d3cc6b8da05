import { join } from "node:path";
import { runProgram, serverCore } from "../support/processes.ts";
import { below, inRounds, medians, milliseconds, percent, percentile, table } from "../support/report.ts";
import { atRate } from "../support/wire.ts";
import { broadcasters, ownBroadcasters, type Part, type Scene, withScene } from "./scene.ts";

const applications = 100;

/**
 * A server that has just started spends its first 20 seconds at this pace on compiling its program, a second of
 * processor time in all, which the deliveries of that time wait for. They are shown beside what is judged.
 */
const settlesAfterSeconds = 20;
const firstSeconds = 5;
/** Long enough for the hanging endpoint to occupy its full share of the sender. */
const untilHeldSeconds = 5;
const goal = { p50Ms: 5, p99Ms: 25, hangingRatio: 1.2 };

/** Latencies of events in milliseconds. */
interface Waits {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface Latency extends Waits {
  /** The share of expected deliveries that had arrived 2 seconds after the last event. */
  readonly arrivedShare: number;
  /** Deliveries of these and of other events that arrived in all, and the time in which they did. */
  readonly all: { readonly arrived: number; readonly distinct: number; readonly seconds: number };
}

/** What events are published at a fixed rate; `each` are the deliveries of one. */
interface Pace {
  readonly perSecond: number;
  readonly seconds: number;
  readonly each: number;
  readonly broadcaster: (n: number) => number;
}

/** An event at a time for each of the applications in turn. */
export const toEachInTurn = { each: 1, broadcaster: (n: number) => broadcasters.ownOf(n % ownBroadcasters) };

/** Publishes at a fixed rate and returns the latencies of the deliveries. */
export async function latencyAt(
  {
    receiver,
    publishers,
  }: Pick<Scene, "receiver"> & { readonly publishers: Pick<Scene["publishers"], "publish"> },
  { perSecond, seconds, each, broadcaster }: Pace,
): Promise<Latency> {
  await receiver.report();
  const startedAt = performance.now();
  await atRate(perSecond, seconds, (n) => publishers.publish(broadcaster(n), receiver.timedId()));
  const expected = Math.ceil(perSecond * seconds) * each;
  await receiver.waitFor(expected, 2, "timed");
  const took = (performance.now() - startedAt) / 1000;
  const { latenciesMs, arrived, distinct } = await receiver.report();
  // Deliveries that have not arrived count as the slowest.
  const never = Array.from<number>({ length: Math.max(0, expected - latenciesMs.length) });
  const all = [...latenciesMs, ...never.fill(Number.POSITIVE_INFINITY)];
  return {
    all: { arrived, distinct, seconds: took },
    p50Ms: percentile(all, 0.5),
    p99Ms: percentile(all, 0.99),
    maxMs: percentile(all, 1),
    arrivedShare: latenciesMs.length / expected,
  };
}

const columns = ["p50", "p99", "longest", "arrived"];
const cells = ({ p50Ms, p99Ms, maxMs }: Waits) => [p50Ms, p99Ms, maxMs].map(milliseconds);
const row = (name: string, latencies: readonly Latency[]) => {
  const middle = medians(latencies);
  return [name, ...cells(middle), percent(middle.arrivedShare)];
};

export const latency: Part = (bench) =>
  withScene(bench, { name: "latency", applications }, async (scene) => {
    const { rounds, seconds } = bench;
    const pace = { perSecond: 1_000, ...toEachInTurn };
    const first = await latencyAt(scene, { ...pace, seconds: firstSeconds });
    await latencyAt(scene, { ...pace, seconds: settlesAfterSeconds - firstSeconds });
    // The latency of events at the same rate that are only synced to the same disk.
    const program = join(import.meta.dir, "bare-sync.ts");
    const file = join(bench.directory, "bare-sync");
    const both = await inRounds(rounds, async () => ({
      onAir: await latencyAt(scene, { ...pace, seconds }),
      sync: await runProgram<Waits>(serverCore, program, [file, pace.perSecond, seconds]),
    }));
    const onAir = both.map((one) => one.onAir);
    const { p50Ms, p99Ms, arrivedShare } = medians(onAir);
    const sync = medians(both.map((one) => one.sync));
    const bound = { as: milliseconds, counts: arrivedShare === 1 };
    return {
      shown: table([
        [`Publishing to arrival, ${pace.perSecond} events a second`, ...columns],
        row("On Air", onAir),
        row(`its first ${firstSeconds} s`, [first]),
        ["a bare sync", ...cells(sync)],
      ]),
      figures: { first, rounds: onAir, syncs: both.map((one) => one.sync) },
      goals: [
        below("p50", p50Ms, goal.p50Ms, bound),
        below(`p99 (a bare sync ${milliseconds(sync.p99Ms)})`, p99Ms, goal.p99Ms, bound),
      ],
    };
  });

export const hanging: Part = (bench) =>
  withScene(bench, { name: "hanging", applications }, async (scene) => {
    const pace = { perSecond: 20, broadcaster: () => broadcasters.everyones };
    const seconds = Math.min(bench.seconds, 4);
    const all = { ...pace, each: applications };
    const others = { ...pace, each: applications - 1 };
    await latencyAt(scene, { ...all, seconds: 2 });
    const without = await inRounds(bench.rounds, () => latencyAt(scene, { ...all, seconds }));
    await scene.receiver.hang("/hook/0");
    await latencyAt(scene, { ...others, seconds: untilHeldSeconds });
    const withOne = await inRounds(bench.rounds, () => latencyAt(scene, { ...others, seconds }));
    const { p99Ms, arrivedShare } = medians(withOne);
    const ratio = p99Ms / medians(without).p99Ms;
    return {
      shown: table([
        [
          `2,000 deliveries a second to ${applications} endpoints, one of which hangs on every request`,
          ...columns,
        ],
        row("none hangs", without),
        row("one hangs: the others", withOne),
      ]),
      figures: { without, with: withOne, ratio },
      goals: [
        below("p99 of the others, of the run without it", ratio, goal.hangingRatio, {
          counts: arrivedShare === 1,
        }),
      ],
    };
  });
