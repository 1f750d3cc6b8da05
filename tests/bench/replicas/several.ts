import { channelFollowed } from "../../../src/domain/events/built-in.ts";
import { latencyAt } from "../delivery/latency.ts";
import type { Bench, Outcome } from "../support/bench.ts";
import { load, type OnAir, startOnAir, subscribers } from "../support/onair.ts";
import { sampleUsers } from "../support/platform.ts";
import { loadCore, serverCore } from "../support/processes.ts";
import { Publishers } from "../support/publishers.ts";
import { Receiver } from "../support/receiver.ts";
import { below, milliseconds, table } from "../support/report.ts";
import { inRounds, median, percentile } from "../support/rounds.ts";
import { startDatabase } from "./database.ts";

/** Each has a broadcaster of its own; so many that both replicas own some. */
const applications = 24;
const perSecond = 200;
const warmUpSeconds = 10;
const replicaCount = 2;

const goals = { p50Ms: 8, p99Ms: 60, takeOverMs: 5_000 };
const broadcasterOf = (n: number) => 1_001 + (n % applications);

/** Two replicas, of which each publisher takes one after the other. */
export async function measureSeveral(
  bench: Bench,
  { rounds: kills, seconds }: { rounds: number; seconds: number },
): Promise<Outcome> {
  const database = await startDatabase();
  const cpus = `${serverCore},${loadCore}`;
  const start = () => startOnAir(bench, { database: database.url, args: ["--allow-private-webhooks"], cpus });
  const replicas: OnAir[] = await Promise.all(Array.from({ length: replicaCount }, start));
  const receiver = await Receiver.start(0);
  try {
    const [first] = replicas as [OnAir, ...OnAir[]];
    await load(first, "users", sampleUsers(applications));
    const event = channelFollowed.name;
    await subscribers(first, applications, { url: receiver.server.url, event, broadcasterOf });
    const each = replicas.map((one) => new Publishers(one));
    let next = 0;
    const publishers = {
      publish: (broadcaster: number, id: string) =>
        (each[next++ % each.length] as Publishers).publish(broadcaster, id),
    };
    const pace = { perSecond, each: 1, broadcaster: broadcasterOf };
    await latencyAt({ receiver, publishers }, { ...pace, seconds: warmUpSeconds });
    const { p50Ms, p99Ms, maxMs } = await latencyAt({ receiver, publishers }, { ...pace, seconds });
    for (const one of each) one.wire.close();
    const waits = await inRounds(kills, () => takeOver(replicas, receiver, start));
    // Of each kill: the longest wait, and that of the quarter that waited least, those of the survivor.
    const takeOversMs = waits.map((all) => Math.max(...all));
    const othersMs = waits.map((all) => percentile(all, 0.25));
    const longestMs = Math.max(...takeOversMs);
    return {
      shown: table([
        ["Two replicas", "p50", "p99", "longest"],
        [`${perSecond} events/s, published to arrived`, ...[p50Ms, p99Ms, maxMs].map(milliseconds)],
        ["one is killed: the longest wait", milliseconds(median(takeOversMs)), "", milliseconds(longestMs)],
        ["the same, of endpoints of the other one", milliseconds(median(othersMs)), "", ""],
      ]),
      figures: { p50Ms, p99Ms, maxMs, takeOversMs, othersMs },
      goals: [
        below("p50", p50Ms, goals.p50Ms, { as: milliseconds }),
        below("p99", p99Ms, goals.p99Ms, { as: milliseconds }),
        below("taken over in", longestMs, goals.takeOverMs, { as: milliseconds }),
      ],
    };
  } finally {
    for (const one of replicas) await one.stop("SIGKILL");
    await receiver.server.stop("SIGKILL");
    await database.stop();
  }
}

/** Kills the first replica, and starts another in its place. Gives how long an event of each application waited. */
async function takeOver(
  replicas: OnAir[],
  receiver: Receiver,
  start: () => Promise<OnAir>,
): Promise<number[]> {
  await receiver.report();
  const [killed, survivor] = replicas;
  if (!killed || !survivor) throw new Error("there are no two replicas");
  await killed.stop("SIGKILL");
  const publishers = new Publishers(survivor);
  await Promise.all(
    Array.from({ length: applications }, (_, i) => publishers.publish(broadcasterOf(i), receiver.timedId())),
  );
  await receiver.waitFor(applications, 20, "timed");
  const { latenciesMs } = await receiver.report();
  publishers.wire.close();
  // The one that has the endpoints now is killed next.
  replicas.splice(0, 2, survivor, await start());
  await Bun.sleep(2_000);
  return latenciesMs.length < applications ? [Number.POSITIVE_INFINITY] : [...latenciesMs];
}
