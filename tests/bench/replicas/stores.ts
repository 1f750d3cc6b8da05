import { join } from "node:path";
import { channelFollowed } from "../../../src/domain/events/channel-followed.ts";
import { Publishers, requireAllOnce } from "../delivery/platform.ts";
import { load, type OnAir, startOnAir, startOnPostgres, subscribers } from "../support/onair.ts";
import { sampleUsers } from "../support/platform.ts";
import { cpuSeconds, loadCore, serverCore } from "../support/processes.ts";
import { newEventId, Receiver } from "../support/receiver.ts";
import { type Goal, milliseconds, table, whole } from "../support/report.ts";
import { median, percentile } from "../support/rounds.ts";
import { startDatabase } from "./database.ts";
import type { Part, Setting } from "./report.ts";

const goal = { perSecond: 3_000, cpuSecondsPer1000: 0.6 };
const broadcaster = 1_001;
const args = ["--allow-private-webhooks"];
const cpus = `${serverCore},${loadCore}`;

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
  stop(): Promise<void>;
}

async function onSqlite(executable: string, directory: string): Promise<Store> {
  const onAir = await startOnAir(executable, join(directory, "data"), directory, { args, cpus });
  return { name: "SQLite", onAir, databaseSeconds: () => 0, stop: () => onAir.stop() };
}

async function onPostgres(executable: string, directory: string): Promise<Store> {
  const database = await startDatabase();
  const onAir = await startOnPostgres(executable, database.url, directory, { args, cpus });
  const stop = async () => {
    await onAir.stop();
    await database.stop();
  };
  return { name: "PostgreSQL", onAir, databaseSeconds: () => database.cpuSeconds(), stop };
}

/** Publishes so many events, waits until all have arrived, and checks that each did once. */
async function roundOf(
  store: Store,
  receiver: Receiver,
  { events, publishers: count }: { events: number; publishers: number },
): Promise<Round> {
  const publishers = new Publishers(store.onAir);
  await receiver.report();
  const before = { onAir: cpuSeconds(store.onAir.pid), database: store.databaseSeconds() };
  const startedAt = performance.now();
  const acknowledged: number[] = [];
  let left = events;
  const publish = async () => {
    while (left-- > 0) acknowledged.push(await publishers.publish(broadcaster, newEventId()));
  };
  await Promise.all(Array.from({ length: count }, publish));
  await receiver.waitFor(events, 60);
  const seconds = (performance.now() - startedAt) / 1000;
  await requireAllOnce(receiver, events);
  const thousands = events / 1000;
  publishers.wire.close();
  return {
    perSecond: events / seconds,
    acknowledgedP50Ms: percentile(acknowledged, 0.5),
    acknowledgedP99Ms: percentile(acknowledged, 0.99),
    onAirSeconds: (cpuSeconds(store.onAir.pid) - before.onAir) / thousands,
    databaseSeconds: (store.databaseSeconds() - before.database) / thousands,
  };
}

interface StoresOptions {
  readonly events: number;
  readonly publishers: number;
  readonly rounds: number;
}

/** Both stores in turn: events that are published one by one and delivered to one endpoint. */
export async function measureStores(
  { executable, directory }: Setting,
  options: StoresOptions,
): Promise<Part> {
  const stores = [await onSqlite(executable, directory), await onPostgres(executable, directory)];
  const receiver = await Receiver.start(0);
  const measured = new Map<string, Round[]>(stores.map(({ name }) => [name, []]));
  for (const { onAir } of stores) {
    await load(onAir, "users", sampleUsers(10));
    const [url, event] = [receiver.server.url, channelFollowed.name];
    await subscribers(onAir, 1, { url, event, broadcasterOf: () => broadcaster });
  }
  for (let round = 0; round <= options.rounds; round++) {
    for (const store of stores) {
      const figures = await roundOf(store, receiver, options);
      if (round > 0) measured.get(store.name)?.push(figures);
    }
  }
  for (const store of stores) await store.stop();
  await receiver.server.stop("SIGKILL");
  return {
    table: tableOf(measured),
    goals: goalsOf(measured.get("PostgreSQL") ?? []),
    figures: Object.fromEntries(measured),
  };
}

const of = (rounds: readonly Round[], figure: keyof Round) => median(rounds.map((one) => one[figure]));

function tableOf(measured: ReadonlyMap<string, readonly Round[]>): string {
  const rows = [...measured].map(([name, rounds]) => {
    const [onAir, database] = [of(rounds, "onAirSeconds"), of(rounds, "databaseSeconds")];
    return [
      name,
      whole(of(rounds, "perSecond")),
      milliseconds(of(rounds, "acknowledgedP50Ms")),
      milliseconds(of(rounds, "acknowledgedP99Ms")),
      `${(onAir + database).toFixed(2)} s`,
      `${database.toFixed(2)} s`,
    ];
  });
  return table([["", "events/s", "acknowledged p50", "p99", "CPU of 1,000", "of it the database"], ...rows]);
}

function goalsOf(postgres: readonly Round[]): Goal[] {
  const perSecond = of(postgres, "perSecond");
  const cpu = of(postgres, "onAirSeconds") + of(postgres, "databaseSeconds");
  return [
    {
      text: `${whole(perSecond)}/s on PostgreSQL, goal ${whole(goal.perSecond)}/s`,
      met: perSecond >= goal.perSecond,
    },
    {
      text: `${cpu.toFixed(2)} s of CPU for 1,000, goal ${goal.cpuSecondsPer1000} s`,
      met: cpu <= goal.cpuSecondsPer1000,
    },
  ];
}
