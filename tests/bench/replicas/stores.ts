import { channelFollowed } from "../../../src/domain/events/built-in.ts";
import type { Bench, Outcome } from "../support/bench.ts";
import { load, type OnAir, startOnAir, subscribers } from "../support/onair.ts";
import { sampleUsers } from "../support/platform.ts";
import { cpuSeconds, cpuSecondsOfFamily, loadCore, serverCore } from "../support/processes.ts";
import { newEventId, Publishers, publishByMany } from "../support/publishers.ts";
import { Receiver } from "../support/receiver.ts";
import { atLeast, below, milliseconds, table, whole } from "../support/report.ts";
import { medians, percentile } from "../support/rounds.ts";
import { startDatabase } from "./database.ts";

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
export async function measureStores(bench: Bench, { rounds }: { rounds: number }): Promise<Outcome> {
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
