import { join } from "node:path";
import { BenchError, cpuSeconds, serverCore, startPinned } from "../support/processes.ts";
import { newEventId } from "../support/receiver.ts";
import { whole } from "../support/report.ts";
import { median } from "../support/rounds.ts";
import { broadcasters, eventText, requireAllOnce } from "./platform.ts";
import { type Bench, inRounds, type Outcome, type Scene, type Section, withScene } from "./section.ts";

const applications = 100;
/** Deliveries that are acknowledged and have not arrived stay about this many. */
const pending = 10_000;
const eventsAtOnce = 10;
/** Sustained is what comes after that: until then the server still compiles its program, at the cost of deliveries. */
const settlesAfterSeconds = 10;

/** One round of one sender. */
interface Pace {
  readonly perSecond: number;
  /** Processor time for each delivery, in microseconds. */
  readonly senderMicroseconds: number;
  readonly receiverMicroseconds: number;
  /** Part of the time that the sender had its core. */
  readonly share: number;
}

export const throughput: Section = {
  name: "throughput",
  title: "Deliveries a second",
  measure: (bench) =>
    withScene(bench, { name: "throughput", applications }, async (scene) => {
      await deliverFor(scene, settlesAfterSeconds);
      const rounds = await inRounds(bench, async () => ({
        onAir: await deliverFor(scene, bench.seconds),
        bare: await sendBare(bench, scene),
      }));
      return outcome(
        rounds.map(({ onAir }) => onAir),
        rounds.map(({ bare }) => bare),
      );
    }),
};

/** Publishes as fast as deliveries arrive, and counts arrivals in a window of steady state. */
async function deliverFor({ onAir, receiver, publishers }: Scene, seconds: number): Promise<Pace> {
  await receiver.report();
  let published = 0;
  let stopped = false;
  const publish = async () => {
    while (!stopped) {
      const arrived = await receiver.arrived();
      while (published - arrived < pending) {
        const ids = Array.from({ length: eventsAtOnce }, newEventId);
        await publishers.publishAll(broadcasters.everyones, ids);
        published += eventsAtOnce * applications;
      }
      await Bun.sleep(5);
    }
  };
  const publishing = publish();
  const rampUpMs = 1_000;
  await Promise.race([Bun.sleep(rampUpMs), publishing]);
  const read = async () => ({
    at: performance.now(),
    arrived: await receiver.arrived(),
    sender: cpuSeconds(onAir.pid),
    receiver: cpuSeconds(receiver.server.pid),
  });
  const before = await read();
  await Promise.race([Bun.sleep(seconds * 1000), publishing]);
  const after = await read();
  stopped = true;
  await publishing;
  await requireAllOnce(receiver, published);
  const took = (after.at - before.at) / 1000;
  const count = after.arrived - before.arrived;
  return {
    perSecond: count / took,
    senderMicroseconds: ((after.sender - before.sender) / count) * 1e6,
    receiverMicroseconds: ((after.receiver - before.receiver) / count) * 1e6,
    share: (after.sender - before.sender) / took,
  };
}

/** The bare loop, with the headers of a delivery of On Air. */
async function sendBare(bench: Bench, { receiver, publishers }: Scene): Promise<Pace> {
  await publishers.publish(broadcasters.ownOf(0), newEventId());
  await receiver.waitFor(1, 10);
  const { headers } = await receiver.report();
  const { data } = JSON.parse(eventText(broadcasters.ownOf(0), "-")) as { data: object };
  const body = JSON.stringify({
    type: headers["onair-event-type"],
    version: 1,
    timestamp: new Date().toISOString(),
    data,
  });
  const automatic = ["host", "connection", "content-length"];
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !automatic.includes(name)));
  const file = join(bench.directory, "bare.json");
  await Bun.write(file, JSON.stringify({ headers: kept, body }));
  const program = join(import.meta.dir, "../support/bare-sender.ts");
  const { url, pid } = receiver.server;
  const before = { cpu: cpuSeconds(pid) };
  const options = [url, String(applications), String(bench.seconds), file];
  const child = startPinned(serverCore, [process.execPath, program, ...options], { stderr: "pipe" });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new BenchError(`The bare loop failed: ${output}`);
  const result = JSON.parse(output) as { sent: number; seconds: number; cpuSeconds: number };
  const { arrived } = await receiver.report();
  return {
    perSecond: result.sent / result.seconds,
    senderMicroseconds: (result.cpuSeconds / result.sent) * 1e6,
    receiverMicroseconds: ((cpuSeconds(pid) - before.cpu) / arrived) * 1e6,
    share: result.cpuSeconds / result.seconds,
  };
}

const goal = { ratio: 0.5, perSecond: 15_000 };

function outcome(onAir: readonly Pace[], bare: readonly Pace[]): Outcome {
  const ratios = onAir.map(({ perSecond }, i) => perSecond / (bare[i]?.perSecond ?? Number.NaN));
  const of = (paces: readonly Pace[], figure: keyof Pace) => median(paces.map((pace) => pace[figure]));
  const row = (name: string, paces: readonly Pace[]) => [
    name,
    whole(of(paces, "perSecond")),
    `${of(paces, "senderMicroseconds").toFixed(1)} µs`,
    `${of(paces, "receiverMicroseconds").toFixed(1)} µs`,
    `${(of(paces, "share") * 100).toFixed(0)} %`,
  ];
  const head = ["", "deliveries/s", "CPU each", "of the receiver", "of its core"];
  const ratio = median(ratios);
  // Nearly the same when both have their core to themselves, and the better judge when others are at work, too.
  const byCpu = of(bare, "senderMicroseconds") / of(onAir, "senderMicroseconds");
  const perSecond = of(onAir, "perSecond");
  return {
    rows: [head, row("On Air", onAir), row("bare fetch", bare)],
    figures: { onAir, bare, ratio, byCpu },
    goals: [
      {
        text: `${ratio.toFixed(2)} of bare (by CPU time ${byCpu.toFixed(2)}), goal ${goal.ratio}`,
        met: ratio >= goal.ratio,
      },
      {
        text: `${whole(perSecond)}/s, goal ${whole(goal.perSecond)}/s`,
        met: perSecond >= goal.perSecond,
      },
    ],
  };
}
