import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { channelFollowed } from "../../../src/domain/events/channel-followed.ts";
import { Publishers, requireAllOnce } from "../delivery/platform.ts";
import { load, newToken, type OnAir, startOnPostgres, subscribers } from "../support/onair.ts";
import { sampleUsers } from "../support/platform.ts";
import { loadCore, serverCore } from "../support/processes.ts";
import { holdToShare } from "../support/quota.ts";
import { newEventId, Receiver } from "../support/receiver.ts";
import { type Goal, table, whole } from "../support/report.ts";
import { median } from "../support/rounds.ts";
import { prepareLoad } from "../support/wrk.ts";
import { type Database, startDatabase } from "./database.ts";
import { getUsers } from "./reads.ts";
import type { Part, Setting } from "./report.ts";

const counts = [1, 2, 4] as const;
const share = 0.25;
const goals = { 2: { reads: 1.8, deliveries: 1.7 }, 4: { reads: 3.4, deliveries: 3 } } as const;

const users = 20_000;
/** Each has a broadcaster of its own, so that all replicas have endpoints. */
const applications = 64;
const publishersOfEach = 16;
const broadcasterOf = (n: number) => 1_001 + (n % applications);

interface SharesOptions {
  readonly rounds: number;
  readonly "read-seconds": number;
}

interface Round {
  readonly reads: number;
  readonly deliveries: number;
  /** Processor time of the database, in seconds of a second, during each. */
  readonly databaseInReads: number;
  readonly databaseInDeliveries: number;
}

/**
 * Replicas that are held to a quarter of a core each, all on one core; the database, which is not held, the load and the
 * receiver are on the other one.
 */
export async function measureShares(setting: Setting, options: SharesOptions): Promise<Part> {
  const measured = new Map<number, Round[]>(counts.map((count) => [count, []]));
  const database = await startDatabase(String(loadCore));
  const receiver = await Receiver.start(0);
  try {
    const first = await start(setting, database);
    await load(first, "users", sampleUsers(users));
    const event = channelFollowed.name;
    await subscribers(first, applications, { url: receiver.server.url, event, broadcasterOf });
    const token = await newToken(first);
    await first.stop();
    for (let round = 0; round < options.rounds; round++) {
      for (const count of counts) {
        const replicas = await Promise.all(Array.from({ length: count }, () => start(setting, database)));
        const release = replicas.map(({ pid }) => holdToShare(pid, share));
        try {
          const name = `shares-${round}-${count}`;
          const reads = await readsOf(replicas, database, join(setting.directory, name), token, options);
          const deliveries = await deliveriesOf(replicas, database, receiver, options);
          measured.get(count)?.push({ ...reads, ...deliveries });
        } finally {
          for (const replica of replicas) await replica.stop("SIGKILL");
          for (const end of release) end();
        }
      }
    }
  } finally {
    await receiver.server.stop("SIGKILL");
    await database.stop();
  }
  return { table: tableOf(measured), goals: goalsOf(measured), figures: Object.fromEntries(measured) };
}

function start({ executable, directory }: Setting, database: Database): Promise<OnAir> {
  const args = ["--allow-private-webhooks", "--database-connections", "8"];
  return startOnPostgres(executable, database.url, directory, { args, cpus: String(serverCore) });
}

/** Get User of all replicas at once. */
async function readsOf(
  replicas: readonly OnAir[],
  database: Database,
  directory: string,
  token: string,
  { "read-seconds": readSeconds }: SharesOptions,
): Promise<Pick<Round, "reads" | "databaseInReads">> {
  mkdirSync(directory);
  const send = await prepareLoad(directory, getUsers(users, token));
  await Promise.all(replicas.map((replica) => send(replica, 5)));
  const before = database.cpuSeconds();
  const runs = await Promise.all(replicas.map((replica) => send(replica, readSeconds)));
  const reads = runs.reduce((sum, run) => sum + run.requestsPerSecond, 0);
  return { reads, databaseInReads: (database.cpuSeconds() - before) / readSeconds };
}

/** Events that are published to all replicas at once, each delivered to one endpoint. */
async function deliveriesOf(
  replicas: readonly OnAir[],
  database: Database,
  receiver: Receiver,
  { "read-seconds": readSeconds }: SharesOptions,
): Promise<Pick<Round, "deliveries" | "databaseInDeliveries">> {
  await receiver.report();
  const each = replicas.map((replica) => new Publishers(replica));
  const before = database.cpuSeconds();
  const startedAt = performance.now();
  const until = startedAt + readSeconds * 1_000;
  let published = 0;
  const publish = async (publishers: Publishers) => {
    while (performance.now() < until) await publishers.publish(broadcasterOf(published++), newEventId());
  };
  await Promise.all(each.flatMap((one) => Array.from({ length: publishersOfEach }, () => publish(one))));
  await receiver.waitFor(published, 60);
  const seconds = (performance.now() - startedAt) / 1_000;
  await requireAllOnce(receiver, published);
  for (const one of each) one.wire.close();
  return {
    deliveries: published / seconds,
    databaseInDeliveries: (database.cpuSeconds() - before) / seconds,
  };
}

const of = (rounds: readonly Round[], figure: keyof Round) => median(rounds.map((one) => one[figure]));

function tableOf(measured: ReadonlyMap<number, readonly Round[]>): string {
  const percent = (part: number) => `${(part * 100).toFixed(0)} %`;
  const rows = [...measured].map(([count, rounds]) => [
    `${count}`,
    whole(of(rounds, "reads")),
    percent(of(rounds, "databaseInReads")),
    whole(of(rounds, "deliveries")),
    percent(of(rounds, "databaseInDeliveries")),
  ]);
  const head = ["replicas, a quarter of a core each", "Get User/s", "database", "deliveries/s", "database"];
  return table([head, ...rows]);
}

function goalsOf(measured: ReadonlyMap<number, readonly Round[]>): Goal[] {
  return ([2, 4] as const).flatMap((count) =>
    (["reads", "deliveries"] as const).map((figure) => {
      const times = of(measured.get(count) ?? [], figure) / of(measured.get(1) ?? [], figure);
      const goal = goals[count][figure];
      return {
        text: `${figure} of ${count} replicas: ${times.toFixed(2)} times, goal ${goal}`,
        met: times >= goal,
      };
    }),
  );
}
