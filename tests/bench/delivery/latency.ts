import { join } from "node:path";
import { BenchError, serverCore, startPinned } from "../support/processes.ts";
import { milliseconds } from "../support/report.ts";
import { median, percentile } from "../support/rounds.ts";
import { atRate } from "../support/wire.ts";
import { broadcasters, ownBroadcasters } from "./platform.ts";
import { type Bench, inRounds, type Scene, type Section, withScene } from "./section.ts";

const applications = 100;

/**
 * A server that has just started spends its first 20 seconds at this pace on compiling its program, a second of
 * processor time in all, which the deliveries of that time wait for. They are shown beside what is judged.
 */
const settlesAfterSeconds = 20;
const firstSeconds = 5;

interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Part of the expected deliveries that had arrived 2 seconds after the last event. */
  readonly arrivedShare: number;
  /** Deliveries of these and of other events that arrived in all, and the time in which they did. */
  readonly all: { readonly arrived: number; readonly distinct: number; readonly seconds: number };
}

/** Publishes at a fixed rate and gives how long the deliveries took to arrive; `each` are those of one event. */
export async function latencyAt(
  {
    receiver,
    publishers,
  }: Pick<Scene, "receiver"> & { readonly publishers: Pick<Scene["publishers"], "publish"> },
  pace: { perSecond: number; seconds: number; each: number; broadcaster: (n: number) => number },
): Promise<Latency> {
  await receiver.report();
  const { perSecond, seconds, each, broadcaster } = pace;
  const startedAt = performance.now();
  await atRate(perSecond, seconds, (n) => publishers.publish(broadcaster(n), receiver.timedId()));
  const expected = Math.ceil(perSecond * seconds) * each;
  await receiver.waitFor(expected, 2, "timed");
  const took = (performance.now() - startedAt) / 1000;
  const { latenciesMs, arrived, distinct } = await receiver.report();
  // What has not arrived yet counts as the slowest.
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

/** Milliseconds that events waited. */
type Waits = Pick<Latency, "p50Ms" | "p99Ms" | "maxMs">;

/** What events of the same pace would wait if they were only to be synced to the same disk. */
async function bareSync(bench: Bench, perSecond: number): Promise<Waits> {
  const program = join(import.meta.dir, "../support/bare-sync.ts");
  const options = [join(bench.directory, "bare-sync"), String(perSecond), String(bench.seconds)];
  const child = startPinned(serverCore, [process.execPath, program, ...options], { stderr: "pipe" });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new BenchError(`The bare syncs failed: ${output}`);
  return JSON.parse(output) as Waits;
}

const of = <Figure extends string>(rounds: readonly Readonly<Record<Figure, number>>[], figure: Figure) =>
  median(rounds.map((one) => one[figure]));

const head = ["", "p50", "p99", "longest", "arrived"];
const waits = (rounds: readonly Waits[]) => [
  milliseconds(of(rounds, "p50Ms")),
  milliseconds(of(rounds, "p99Ms")),
  milliseconds(of(rounds, "maxMs")),
];
const row = (name: string, latencies: readonly Latency[]) => [
  name,
  ...waits(latencies),
  `${(of(latencies, "arrivedShare") * 100).toFixed(1)} %`,
];

const goal = { p50Ms: 5, p99Ms: 25, hangingRatio: 1.2 };

export const latency: Section = {
  name: "latency",
  title: "Publishing to arrival, 1,000 events a second",
  measure: (bench) =>
    withScene(bench, { name: "latency", applications }, async (scene) => {
      const broadcaster = (n: number) => broadcasters.ownOf(n % ownBroadcasters);
      const pace = { perSecond: 1_000, each: 1, broadcaster };
      const first = await latencyAt(scene, { ...pace, seconds: firstSeconds });
      await latencyAt(scene, { ...pace, seconds: settlesAfterSeconds - firstSeconds });
      const both = await inRounds(bench, async () => ({
        onAir: await latencyAt(scene, { ...pace, seconds: bench.seconds }),
        sync: await bareSync(bench, pace.perSecond),
      }));
      const rounds = both.map(({ onAir }) => onAir);
      const syncs = both.map(({ sync }) => sync);
      const disk = `a bare sync ${milliseconds(of(syncs, "p99Ms"))}`;
      const [p50Ms, p99Ms] = [of(rounds, "p50Ms"), of(rounds, "p99Ms")];
      const allArrived = of(rounds, "arrivedShare") === 1;
      return {
        rows: [
          head,
          row("On Air", rounds),
          row(`its first ${firstSeconds} s`, [first]),
          ["a bare sync", ...waits(syncs)],
        ],
        figures: { first, rounds, syncs },
        goals: [
          {
            text: `p50 ${milliseconds(p50Ms)}, goal ${goal.p50Ms} ms`,
            met: allArrived && p50Ms < goal.p50Ms,
          },
          {
            text: `p99 ${milliseconds(p99Ms)} (${disk}), goal ${goal.p99Ms} ms`,
            met: allArrived && p99Ms < goal.p99Ms,
          },
        ],
      };
    }),
};

/** Long enough for the endpoint that hangs to hold all that it can get of the sender. */
const untilHeldSeconds = 5;

export const hanging: Section = {
  name: "hanging",
  title: "2,000 deliveries a second to 100 endpoints, one of which hangs 15 s on every request",
  measure: (bench) =>
    withScene(bench, { name: "hanging", applications }, async (scene) => {
      const pace = { perSecond: 20, broadcaster: () => broadcasters.everyones };
      const seconds = Math.min(bench.seconds, 4);
      await latencyAt(scene, { ...pace, each: applications, seconds: 2 });
      const without = await inRounds(bench, () => latencyAt(scene, { ...pace, each: applications, seconds }));
      await scene.receiver.hang("/hook/0");
      const others = { ...pace, each: applications - 1 };
      await latencyAt(scene, { ...others, seconds: untilHeldSeconds });
      const withOne = await inRounds(bench, () => latencyAt(scene, { ...others, seconds }));
      const ratio = of(withOne, "p99Ms") / of(without, "p99Ms");
      const allArrived = of(withOne, "arrivedShare") === 1;
      return {
        rows: [head, row("none hangs", without), row("one hangs: the others", withOne)],
        figures: { without, with: withOne, ratio },
        goals: [
          {
            text: `p99 of the others ${ratio.toFixed(2)} of the run without it, goal ${goal.hangingRatio}`,
            met: allArrived && ratio <= goal.hangingRatio,
          },
        ],
      };
    }),
};
