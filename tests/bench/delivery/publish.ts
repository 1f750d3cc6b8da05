import { cpuSeconds } from "../support/processes.ts";
import {
  atLeast,
  inRounds,
  medians,
  microseconds,
  milliseconds,
  percent,
  percentile,
  table,
  whole,
} from "../support/report.ts";
import { newEventId, publishByMany } from "../support/wire.ts";
import { bareScene, broadcasters, type Part, type Scene, withScene } from "./scene.ts";

const applications = 100;
const publisherCount = 64;
const goalPerSecond = 10_000;
/** Until then the server still compiles what it does. */
const settlesAfterSeconds = 5;

interface Pace {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time for each event, its deliveries included that were behind. */
  readonly serverMicroseconds: number;
  /** Part of the deliveries that had arrived when the last event was acknowledged. */
  readonly arrivedShare: number;
}

export const publish: Part = (bench) =>
  withScene(bench, { name: "publish", applications }, async (scene) => {
    const { rounds } = bench;
    const seconds = Math.min(bench.seconds, 3);
    for (const subscribed of [false, true]) await publishFor(scene, settlesAfterSeconds, subscribed);
    const alone = await inRounds(rounds, () => publishFor(scene, seconds, false));
    const program = await bareScene(bench, scene);
    await publishFor(program, settlesAfterSeconds, true);
    const both = await inRounds(rounds, async () => ({
      onAir: await publishFor(scene, seconds, true),
      bare: await publishFor(program, seconds, true),
    }));
    await program.onAir.stop("SIGKILL");
    const delivered = both.map(({ onAir }) => onAir);
    const bare = both.map(({ bare }) => bare);
    const row = (name: string, paces: readonly Pace[]) => {
      const { perSecond, p50Ms, p99Ms, serverMicroseconds, arrivedShare } = medians(paces);
      const arrived = paces === alone ? "" : percent(arrivedShare);
      const times = [milliseconds(p50Ms), milliseconds(p99Ms), microseconds(serverMicroseconds)];
      return [name, whole(perSecond), ...times, arrived];
    };
    return {
      shown: table([
        [
          `Events published, one a request, ${publisherCount} publishers`,
          "a second",
          "p50",
          "p99",
          "CPU each",
          "arrived by then",
        ],
        row("no subscriber", alone),
        row("one subscriber, and delivered", delivered),
        row("the bare program, delivered", bare),
      ]),
      figures: { alone, delivered, bare },
      goals: [
        atLeast("a second with one subscriber", medians(delivered).perSecond, goalPerSecond, { as: whole }),
      ],
    };
  });

/** Publishes events with one subscriber each, or with none, as fast as they are acknowledged. */
async function publishFor(
  { onAir, receiver, publishers }: Scene,
  seconds: number,
  subscribed: boolean,
): Promise<Pace> {
  await receiver.report();
  const cpu = cpuSeconds(onAir.pid);
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  const broadcasterOf = (index: number) => (subscribed ? broadcasters.ownOf(index) : broadcasters.nobodys);
  const latencies = await publishByMany(
    publisherCount,
    () => performance.now() < endsAt,
    (publisher) => publishers.publish(broadcasterOf(publisher), newEventId()),
  );
  const took = (performance.now() - startedAt) / 1000;
  const arrived = await receiver.arrived();
  if (subscribed) await receiver.requireAllOnce(latencies.length);
  const used = cpuSeconds(onAir.pid) - cpu;
  return {
    perSecond: latencies.length / took,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    serverMicroseconds: (used / latencies.length) * 1e6,
    arrivedShare: arrived / latencies.length,
  };
}
