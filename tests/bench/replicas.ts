/*
 * On Air on PostgreSQL, alone and as several replicas, beside SQLite: bun tests/bench/replicas.ts --help
 */
import { SQL } from "bun";
import { channelFollowed } from "../../src/domain/events/built-in.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { latencyAt } from "./delivery/latency.ts";
import { type Bench, benchmark, type Outcome } from "./support/bench.ts";
import { load, type OnAir, startOnAir, subscribers } from "./support/onair.ts";
import { sampleUsers } from "./support/platform.ts";
import { cpuSeconds, cpuSecondsOfFamily, familyOf, hold, loadCore, serverCore } from "./support/processes.ts";
import { Receiver } from "./support/receiver.ts";
import {
  atLeast,
  below,
  inRounds,
  median,
  medians,
  milliseconds,
  percentile,
  table,
  whole,
} from "./support/report.ts";
import { newEventId, Publishers, publishByMany } from "./support/wire.ts";

/** A PostgreSQL of the benchmark's own, whose commits are synced, with a database for On Air. */
export interface Database {
  readonly url: string;
  /** The process that starts all others of it. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts one. `cpus`: the cores that it is held to, as `taskset` takes them; else those of this process. */
async function startDatabase(cpus?: string): Promise<Database> {
  const server = await startPostgres(["fsync=on", "shared_buffers=256MB"]);
  const sql = new SQL(server.url("postgres"), { max: 1 });
  await sql.unsafe("CREATE DATABASE onair");
  await sql.close();
  if (cpus !== undefined) for (const pid of familyOf(server.pid).keys()) hold(pid, cpus);
  return { url: server.url("onair"), pid: server.pid, stop: () => server.stop() };
}

const goal = { perSecond: 3_000, cpuSeconds: 0.6 };
const events = 20_000;
const publisherCount = 64;
const broadcaster = 1_001;
const options = { args: ["--allow-private-webhooks"], cpus: `${serverCore},${loadCore}` };

interface Round {
  readonly perSecond: number;
  /** Publishing to its acknowledgement, in milliseconds. */
  readonly acknowledgedP50Ms: number;
  readonly acknowledgedP99Ms: number;
  /** Processor time of 1,000 events, in seconds. */
  readonly onAirSeconds: number;
  readonly databaseSeconds: number;
}

interface Store {
  readonly name: string;
  readonly onAir: OnAir;
  /** Processor time that the database has used beside On Air, in seconds. */
  databaseSeconds(): number;
  readonly rounds: Round[];
}

/** Publishes events, waits until all have arrived, and checks that each did once. */
async function roundOf({ onAir, databaseSeconds }: Store, receiver: Receiver): Promise<Round> {
  const publishers = new Publishers(onAir);
  await receiver.report();
  const before = { onAir: cpuSeconds(onAir.pid), database: databaseSeconds() };
  const startedAt = performance.now();
  let left = events;
  const acknowledged = await publishByMany(
    publisherCount,
    () => left-- > 0,
    () => publishers.publish(broadcaster, newEventId()),
  );
  await receiver.waitFor(events, 60);
  const seconds = (performance.now() - startedAt) / 1000;
  await receiver.requireAllOnce(events);
  publishers.wire.close();
  const thousands = events / 1000;
  return {
    perSecond: events / seconds,
    acknowledgedP50Ms: percentile(acknowledged, 0.5),
    acknowledgedP99Ms: percentile(acknowledged, 0.99),
    onAirSeconds: (cpuSeconds(onAir.pid) - before.onAir) / thousands,
    databaseSeconds: (databaseSeconds() - before.database) / thousands,
  };
}

/** Both stores in turn: events that are published one by one and delivered to one endpoint. */
async function measureStores(bench: Bench, { rounds }: { rounds: number }): Promise<Outcome> {
  const database = await startDatabase();
  const sqlite = await startOnAir(bench, options);
  const postgres = await startOnAir(bench, { ...options, database: database.url });
  const stores: Store[] = [
    { name: "SQLite", onAir: sqlite, databaseSeconds: () => 0, rounds: [] },
    {
      name: "PostgreSQL",
      onAir: postgres,
      databaseSeconds: () => cpuSecondsOfFamily(database.pid),
      rounds: [],
    },
  ];
  const receiver = await Receiver.start(0);
  for (const { onAir } of stores) {
    await load(onAir, "users", sampleUsers(10));
    const [url, event] = [receiver.server.url, channelFollowed.name];
    await subscribers(onAir, 1, { url, event, broadcasterOf: () => broadcaster });
  }
  for (let round = 0; round <= rounds; round++) {
    for (const store of stores) {
      const figures = await roundOf(store, receiver);
      if (round > 0) store.rounds.push(figures);
    }
  }
  for (const { onAir } of stores) await onAir.stop();
  await database.stop();
  await receiver.server.stop("SIGKILL");
  const { perSecond, onAirSeconds, databaseSeconds } = medians(stores[1]?.rounds ?? []);
  const seconds = (value: number) => `${value.toFixed(2)} s`;
  return {
    shown: table([
      [
        `${publisherCount} publishers`,
        "events/s",
        "acknowledged p50",
        "p99",
        "CPU of 1,000",
        "of it the database",
      ],
      ...stores.map(({ name, rounds }) => {
        const of = medians(rounds);
        return [
          name,
          whole(of.perSecond),
          milliseconds(of.acknowledgedP50Ms),
          milliseconds(of.acknowledgedP99Ms),
          seconds(of.onAirSeconds + of.databaseSeconds),
          seconds(of.databaseSeconds),
        ];
      }),
    ]),
    figures: Object.fromEntries(stores.map(({ name, rounds }) => [name, rounds])),
    goals: [
      atLeast("events a second on PostgreSQL", perSecond, goal.perSecond, { as: whole }),
      below("CPU of 1,000", onAirSeconds + databaseSeconds, goal.cpuSeconds, { as: seconds }),
    ],
  };
}

/** Each has a broadcaster of its own; so many that both replicas own some. */
const applications = 24;
const perSecond = 200;
const warmUpSeconds = 10;
const replicaCount = 2;

const goals = { p50Ms: 8, p99Ms: 60, takeOverMs: 5_000 };
const broadcasterOf = (n: number) => 1_001 + (n % applications);

/** Two replicas, of which each publisher takes one after the other. */
async function measureSeveral(
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

const about = `
stores    Events of 650 bytes are published one by one and delivered to one endpoint, on SQLite and on PostgreSQL, whose
          commits are synced. All are on both cores, the publishers and the receiver on the second one. Processor time is
          On Air's and the database's together.
replicas  200 events a second are published to two replicas in turn, for endpoints of which each owns some; and one of
          them is killed.
`;

interface ReplicaOptions {
  readonly rounds: number;
  readonly seconds: number;
}

const parts: Record<string, (bench: Bench, options: ReplicaOptions) => Promise<Outcome>> = {
  stores: measureStores,
  replicas: measureSeveral,
};

await benchmark(
  {
    about,
    options: {
      rounds: { default: 3, most: 100, help: "rounds of each store, and kills of a replica" },
      seconds: {
        default: 5,
        most: 3_600,
        help: "length of publishing to replicas",
      },
    },
    parts: Object.keys(parts),
    ofExecutable: true,
    pinned: true,
  },
  async (bench, options) => {
    for (const name of bench.only) {
      bench.say(`Measuring ${name}`);
      await bench.measure(name, async () => (parts[name] as (typeof parts)[string])(bench, options));
    }
  },
);
