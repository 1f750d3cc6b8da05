import { join } from "node:path";
import { cpuSeconds, runProgram, serverCore } from "../support/processes.ts";
import {
  atLeast,
  inRounds,
  median,
  medians,
  microseconds,
  percent,
  table,
  whole,
} from "../support/report.ts";
import { eventText, newEventId } from "../support/wire.ts";
import { broadcasters, type DeliveryBench, type Part, type Scene, withScene } from "./scene.ts";

const eventsAtOnce = 10;

interface Load {
  readonly broadcaster: number;
  /** Deliveries of each event. */
  readonly each: number;
  /** Approximate number of deliveries that are acknowledged and have not arrived, at any time. */
  readonly pending: number;
}

/** Publishes as fast as deliveries arrive while `watch` runs, which waits by calling `pass`. */
export async function whilePending<T>(
  { receiver, publishers }: Scene,
  { broadcaster, each, pending }: Load,
  watch: (pass: (seconds: number) => Promise<unknown>) => Promise<T>,
): Promise<{ result: T; published: number }> {
  await receiver.report();
  let published = 0;
  let stopped = false;
  const publish = async () => {
    while (!stopped) {
      const arrived = await receiver.arrived();
      while (published - arrived < pending) {
        await publishers.publishAll(broadcaster, Array.from({ length: eventsAtOnce }, newEventId));
        published += eventsAtOnce * each;
      }
      await Bun.sleep(5);
    }
  };
  const publishing = publish();
  // Ends early where publishing fails.
  const result = await watch((seconds) => Promise.race([Bun.sleep(seconds * 1000), publishing]));
  stopped = true;
  await publishing;
  return { result, published };
}

const applications = 100;
/** Deliveries that are acknowledged and have not arrived stay about this many. */
const pending = 10_000;
/** Sustained is what comes after that: until then the server still compiles its program, at the cost of deliveries. */
const settlesAfterSeconds = 10;
const rampUpSeconds = 1;
const goal = { ratio: 0.5, perSecond: 15_000 };

/** One round of one sender. */
interface Pace {
  readonly perSecond: number;
  /** Processor time for each delivery, in microseconds. */
  readonly senderMicroseconds: number;
  readonly receiverMicroseconds: number;
  /** Part of the time that the sender had its core. */
  readonly share: number;
}

export const throughput: Part = (bench) =>
  withScene(bench, { name: "throughput", applications }, async (scene) => {
    await deliverFor(scene, settlesAfterSeconds);
    const rounds = await inRounds(bench.rounds, async () => ({
      onAir: await deliverFor(scene, bench.seconds),
      bare: await sendBare(bench, scene),
    }));
    const [onAir, bare] = [medians(rounds.map((one) => one.onAir)), medians(rounds.map((one) => one.bare))];
    const ratio = median(rounds.map((one) => one.onAir.perSecond / one.bare.perSecond));
    // Nearly the same when both have their core to themselves, and the better judge when others are at work, too.
    const byCpu = bare.senderMicroseconds / onAir.senderMicroseconds;
    const row = (name: string, pace: Pace) => [
      name,
      whole(pace.perSecond),
      microseconds(pace.senderMicroseconds),
      microseconds(pace.receiverMicroseconds),
      percent(pace.share),
    ];
    return {
      shown: table([
        ["Deliveries", "a second", "CPU each", "of the receiver", "of its core"],
        row("On Air", onAir),
        row("bare fetch", bare),
      ]),
      figures: { rounds, ratio, byCpu },
      goals: [
        atLeast(`of bare (by CPU time ${byCpu.toFixed(2)})`, ratio, goal.ratio),
        atLeast("deliveries a second", onAir.perSecond, goal.perSecond, { as: whole }),
      ],
    };
  });

/** Publishes as fast as deliveries arrive, and counts arrivals in a window of steady state. */
async function deliverFor(scene: Scene, seconds: number): Promise<Pace> {
  const { onAir, receiver } = scene;
  const read = async () => ({
    at: performance.now(),
    arrived: await receiver.arrived(),
    sender: cpuSeconds(onAir.pid),
    receiver: cpuSeconds(receiver.server.pid),
  });
  const load = { broadcaster: broadcasters.everyones, each: applications, pending };
  const { result, published } = await whilePending(scene, load, async (pass) => {
    await pass(rampUpSeconds);
    const before = await read();
    await pass(seconds);
    return { before, after: await read() };
  });
  await receiver.requireAllOnce(published);
  const { before, after } = result;
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
async function sendBare(bench: DeliveryBench, { receiver, publishers }: Scene): Promise<Pace> {
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
  const { url, pid } = receiver.server;
  const before = cpuSeconds(pid);
  const sender = await runProgram<{ sent: number; seconds: number; cpuSeconds: number }>(
    serverCore,
    join(import.meta.dir, "bare-sender.ts"),
    [url, applications, bench.seconds, file],
  );
  const { arrived } = await receiver.report();
  return {
    perSecond: sender.sent / sender.seconds,
    senderMicroseconds: (sender.cpuSeconds / sender.sent) * 1e6,
    receiverMicroseconds: ((cpuSeconds(pid) - before) / arrived) * 1e6,
    share: sender.cpuSeconds / sender.seconds,
  };
}
