import { cpuSeconds } from "../support/processes.ts";
import { newEventId } from "../support/receiver.ts";
import { milliseconds, whole } from "../support/report.ts";
import { median, percentile } from "../support/rounds.ts";
import { broadcasters, requireAllOnce } from "./platform.ts";
import { inRounds, type Outcome, type Scene, type Section, withScene } from "./section.ts";

const applications = 100;
const publisherCount = 64;
const goalPerSecond = 10_000;

interface Pace {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverMicroseconds: number;
}

export const publish: Section = {
  name: "publish",
  title: "Events published a second, one a request, 64 publishers",
  measure: (bench) =>
    withScene(bench, { name: "publish", applications }, async (scene) => {
      const windowSeconds = Math.min(bench.seconds, 3);
      await publishFor(scene, 2, false);
      const alone = await inRounds(bench, () => publishFor(scene, windowSeconds, false));
      const delivered = await inRounds(bench, () => publishFor(scene, windowSeconds, true));
      return outcome(alone, delivered);
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
  const used = cpuSeconds(onAir.pid) - cpu;
  if (subscribed) await requireAllOnce(receiver, latencies.length);
  return {
    perSecond: latencies.length / took,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    serverMicroseconds: (used / latencies.length) * 1e6,
  };
}

function outcome(alone: readonly Pace[], delivered: readonly Pace[]): Outcome {
  const of = (paces: readonly Pace[], figure: keyof Pace) => median(paces.map((pace) => pace[figure]));
  const row = (name: string, paces: readonly Pace[]) => [
    name,
    whole(of(paces, "perSecond")),
    milliseconds(of(paces, "p50Ms")),
    milliseconds(of(paces, "p99Ms")),
    `${of(paces, "serverMicroseconds").toFixed(1)} µs`,
  ];
  const perSecond = of(delivered, "perSecond");
  return {
    rows: [
      ["", "events/s", "p50", "p99", "CPU each"],
      row("no subscriber", alone),
      row("one subscriber, and delivered", delivered),
    ],
    figures: { alone, delivered },
    goals: [
      {
        text: `with one subscriber ${whole(perSecond)}/s, goal ${whole(goalPerSecond)}/s`,
        met: perSecond >= goalPerSecond,
      },
    ],
  };
}
