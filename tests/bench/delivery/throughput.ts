import { join } from "node:path";
import { cpuSeconds, runProgram, serverCore } from "../support/processes.ts";
import {
  atLeast,
  inRounds,
  median,
  medians,
  microseconds,
  milliseconds,
  percent,
  percentile,
  table,
  whole,
} from "../support/report.ts";
import { eventText, newEventId, publishByMany } from "../support/wire.ts";
import { bareScene, broadcasters, type DeliveryBench, type Part, type Scene, withScene } from "./scene.ts";

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

const publisherCount = 64;
const goalPerSecond = 10_000;
/** Until then the server still compiles what it does. */
const publishingSettlesAfterSeconds = 5;

interface PublishingPace {
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
    for (const subscribed of [false, true])
      await publishFor(scene, publishingSettlesAfterSeconds, subscribed);
    const alone = await inRounds(rounds, () => publishFor(scene, seconds, false));
    const program = await bareScene(bench, scene);
    await publishFor(program, publishingSettlesAfterSeconds, true);
    const both = await inRounds(rounds, async () => ({
      onAir: await publishFor(scene, seconds, true),
      bare: await publishFor(program, seconds, true),
    }));
    await program.onAir.stop("SIGKILL");
    const delivered = both.map(({ onAir }) => onAir);
    const bare = both.map(({ bare }) => bare);
    const row = (name: string, paces: readonly PublishingPace[]) => {
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
): Promise<PublishingPace> {
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
