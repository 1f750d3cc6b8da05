import { channelFollowed } from "../../../src/domain/events/channel-followed.ts";
import { latencyAt } from "../delivery/latency.ts";
import { Publishers } from "../delivery/platform.ts";
import { load, type OnAir, startOnPostgres, subscribers } from "../support/onair.ts";
import { sampleUsers } from "../support/platform.ts";
import { loadCore, serverCore } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";
import { type Goal, milliseconds, table } from "../support/report.ts";
import { median, percentile } from "../support/rounds.ts";
import { startDatabase } from "./database.ts";
import type { Part, Setting } from "./report.ts";

/** Each has a broadcaster of its own; so many that both replicas own some. */
const applications = 24;
const perSecond = 200;
const warmUpSeconds = 10;
const replicaCount = 2;

const goals = { p50Ms: 8, p99Ms: 60, takeOverMs: 5_000 };
const broadcasterOf = (n: number) => 1_001 + (n % applications);

interface Several {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Of each kill: how long the event waited longest that was published just then. */
  readonly takeOversMs: readonly number[];
  /** Of each kill: how long at most the quarter of them waited that waited least, those of the survivor. */
  readonly othersMs: readonly number[];
}

interface SeveralOptions {
  readonly seconds: number;
  readonly kills: number;
}

/** Two replicas, of which each publisher takes one after the other. */
export async function measureSeveral(setting: Setting, options: SeveralOptions): Promise<Part> {
  const several = await measure(setting, options);
  return { table: tableOf(several), goals: goalsOf(several), figures: several };
}

async function measure(
  { executable, directory }: Setting,
  { seconds, kills }: SeveralOptions,
): Promise<Several> {
  const database = await startDatabase();
  const cpus = `${serverCore},${loadCore}`;
  const args = ["--allow-private-webhooks"];
  const start = () => startOnPostgres(executable, database.url, directory, { args, cpus });
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
    const takeOvers = [];
    for (let i = 0; i < kills; i++) takeOvers.push(await takeOver(replicas, receiver, start));
    return {
      p50Ms,
      p99Ms,
      maxMs,
      takeOversMs: takeOvers.map((waits) => Math.max(...waits)),
      othersMs: takeOvers.map((waits) => percentile(waits, 0.25)),
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

function tableOf({ p50Ms, p99Ms, maxMs, takeOversMs, othersMs }: Several): string {
  return table([
    ["two replicas", "p50", "p99", "max"],
    [
      `${perSecond} events/s, published to arrived`,
      milliseconds(p50Ms),
      milliseconds(p99Ms),
      milliseconds(maxMs),
    ],
    [
      "one is killed: the longest wait, of all kills p50 and max",
      milliseconds(median([...takeOversMs])),
      "",
      milliseconds(Math.max(...takeOversMs)),
    ],
    ["the same, of endpoints of the other one", milliseconds(median([...othersMs])), "", ""],
  ]);
}

function goalsOf({ p50Ms, p99Ms, takeOversMs }: Several): Goal[] {
  const longest = Math.max(...takeOversMs);
  return [
    { text: `p50 ${milliseconds(p50Ms)}, goal ${goals.p50Ms} ms`, met: p50Ms < goals.p50Ms },
    { text: `p99 ${milliseconds(p99Ms)}, goal ${goals.p99Ms} ms`, met: p99Ms < goals.p99Ms },
    { text: `taken over in ${milliseconds(longest)}, goal 5 s`, met: longest < goals.takeOverMs },
  ];
}
