import { cpuSeconds } from "../support/processes.ts";
import { newEventId } from "../support/receiver.ts";
import { milliseconds, whole } from "../support/report.ts";
import { median, percentile } from "../support/rounds.ts";
import { broadcasters, requireAllOnce } from "./platform.ts";
import { bareScene, inRounds, type Outcome, type Scene, type Section, withScene } from "./section.ts";

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

export const publish: Section = {
  name: "publish",
  title: "Events published a second, one a request, 64 publishers",
  measure: (bench) =>
    withScene(bench, { name: "publish", applications }, async (scene) => {
      const windowSeconds = Math.min(bench.seconds, 3);
      for (const subscribed of [false, true]) await publishFor(scene, settlesAfterSeconds, subscribed);
      const alone = await inRounds(bench, () => publishFor(scene, windowSeconds, false));
      const program = await bareScene(bench, scene);
      await publishFor(program, settlesAfterSeconds, true);
      const both = await inRounds(bench, async () => ({
        onAir: await publishFor(scene, windowSeconds, true),
        bare: await publishFor(program, windowSeconds, true),
      }));
      await program.onAir.stop("SIGKILL");
      const delivered = both.map(({ onAir }) => onAir);
      const bare = both.map(({ bare }) => bare);
      return outcome(alone, delivered, bare);
    }),
};

/** Publishes events with one subscriber each, or with none, as fast as they are acknowledged. */
async function publishFor(
  { onAir, receiver, publishers }: Scene,
  seconds: number,
  subscribed: boolean,
): Promise<Pace> {
  await receiver.report();
  const latencies: number[] = [];
  const cpu = cpuSeconds(onAir.pid);
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  const publisher = async (index: number) => {
    const broadcaster = subscribed ? broadcasters.ownOf(index) : broadcasters.nobodys;
    while (performance.now() < endsAt) {
      latencies.push(await publishers.publish(broadcaster, newEventId()));
    }
  };
  await Promise.all(Array.from({ length: publisherCount }, (_, index) => publisher(index)));
  const took = (performance.now() - startedAt) / 1000;
  const arrived = await receiver.arrived();
  if (subscribed) await requireAllOnce(receiver, latencies.length);
  const used = cpuSeconds(onAir.pid) - cpu;
  return {
    perSecond: latencies.length / took,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    serverMicroseconds: (used / latencies.length) * 1e6,
    arrivedShare: arrived / latencies.length,
  };
}

function outcome(alone: readonly Pace[], delivered: readonly Pace[], bare: readonly Pace[]): Outcome {
  const of = (paces: readonly Pace[], figure: keyof Pace) => median(paces.map((pace) => pace[figure]));
  const row = (name: string, paces: readonly Pace[]) => [
    name,
    whole(of(paces, "perSecond")),
    milliseconds(of(paces, "p50Ms")),
    milliseconds(of(paces, "p99Ms")),
    `${of(paces, "serverMicroseconds").toFixed(1)} µs`,
    paces === alone ? "" : `${(of(paces, "arrivedShare") * 100).toFixed(0)} %`,
  ];
  const perSecond = of(delivered, "perSecond");
  return {
    rows: [
      ["", "events/s", "p50", "p99", "CPU each", "arrived by then"],
      row("no subscriber", alone),
      row("one subscriber, and delivered", delivered),
      row("the bare program, delivered", bare),
    ],
    figures: { alone, delivered, bare },
    goals: [
      {
        text: `with one subscriber ${whole(perSecond)}/s, goal ${whole(goalPerSecond)}/s`,
        met: perSecond >= goalPerSecond,
      },
    ],
  };
}
