import { join } from "node:path";
import { channelFollowed } from "../../../src/domain/events/built-in.ts";
import type { Bench, Outcome } from "../support/bench.ts";
import { load, newToken, type OnAir, startOnAir, subscribers } from "../support/onair.ts";
import { sampleUsers } from "../support/platform.ts";
import { cpuSecondsOfFamily, loadCore, serverCore } from "../support/processes.ts";
import { newEventId, Publishers, publishByMany } from "../support/publishers.ts";
import { Receiver } from "../support/receiver.ts";
import { atLeast, percent, table, whole } from "../support/report.ts";
import { medians } from "../support/rounds.ts";
import { type Load, prepareLoad } from "../support/wrk.ts";
import { type Database, startDatabase } from "./database.ts";
import { holdToShare } from "./quota.ts";
import { getUsers } from "./reads.ts";

const counts = [1, 2, 4] as const;
const share = 0.25;
const goals = { 2: { reads: 1.8, deliveries: 1.7 }, 4: { reads: 3.4, deliveries: 3 } } as const;

const users = 20_000;
/** Each has a broadcaster of its own, so that all replicas have endpoints. */
const applications = 64;
const publishersOfEach = 16;
const broadcasterOf = (n: number) => 1_001 + (n % applications);

interface Round {
  readonly reads: number;
  readonly deliveries: number;
  /** Processor time of the database, in seconds of a second, during each. */
  readonly databaseInReads: number;
  readonly databaseInDeliveries: number;
}

/**
 * Replicas that are held to a quarter of a core each, all on one core; the database, which is not held, the load and
 * the receiver are on the other one.
 */
export async function measureShares(
  bench: Bench,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Outcome> {
  const measured = counts.map((count) => ({ count, rounds: [] as Round[] }));
  const database = await startDatabase(String(loadCore));
  const receiver = await Receiver.start(0);
  try {
    const first = await start(bench, database);
    await load(first, "users", sampleUsers(users));
    const event = channelFollowed.name;
    await subscribers(first, applications, { url: receiver.server.url, event, broadcasterOf });
    const token = await newToken(first);
    await first.stop();
    for (let round = 0; round < rounds; round++) {
      for (const { count, rounds: own } of measured) {
        const replicas = await Promise.all(Array.from({ length: count }, () => start(bench, database)));
        const release = replicas.map(({ pid }) => holdToShare(pid, share));
        try {
          const send = await prepareLoad(join(bench.directory, "shares"), getUsers(users, token));
          const reads = await readsOf(replicas, database, send, seconds);
          own.push({ ...reads, ...(await deliveriesOf(replicas, database, receiver, seconds)) });
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
  const of = measured.map(({ count, rounds }) => ({ count, ...medians(rounds) }));
  const [alone] = of;
  return {
    shown: table([
      ["Replicas, a quarter of a core each", "Get User/s", "database", "deliveries/s", "database"],
      ...of.map(({ count, reads, databaseInReads, deliveries, databaseInDeliveries }) => [
        `${count}`,
        whole(reads),
        percent(databaseInReads),
        whole(deliveries),
        percent(databaseInDeliveries),
      ]),
    ]),
    figures: Object.fromEntries(measured.map(({ count, rounds }) => [count, rounds])),
    goals: of.slice(1).flatMap((one) =>
      (["reads", "deliveries"] as const).map((figure) => {
        const times = one[figure] / (alone?.[figure] ?? Number.NaN);
        return atLeast(
          `times the ${figure} by ${one.count} replicas`,
          times,
          goals[one.count as 2 | 4][figure],
        );
      }),
    ),
  };
}

function start(bench: Bench, database: Database): Promise<OnAir> {
  const args = ["--allow-private-webhooks", "--database-connections", "8"];
  return startOnAir(bench, { database: database.url, args, cpus: String(serverCore) });
}

/** Get User of all replicas at once. */
async function readsOf(
  replicas: readonly OnAir[],
  database: Database,
  send: Load,
  seconds: number,
): Promise<Pick<Round, "reads" | "databaseInReads">> {
  await Promise.all(replicas.map((replica) => send(replica, 5)));
  const before = cpuSecondsOfFamily(database.pid);
  const runs = await Promise.all(replicas.map((replica) => send(replica, seconds)));
  const reads = runs.reduce((sum, run) => sum + run.requestsPerSecond, 0);
  return { reads, databaseInReads: (cpuSecondsOfFamily(database.pid) - before) / seconds };
}

/** Events that are published to all replicas at once, each delivered to one endpoint. */
async function deliveriesOf(
  replicas: readonly OnAir[],
  database: Database,
  receiver: Receiver,
  seconds: number,
): Promise<Pick<Round, "deliveries" | "databaseInDeliveries">> {
  await receiver.report();
  const each = replicas.map((replica) => new Publishers(replica));
  const before = cpuSecondsOfFamily(database.pid);
  const startedAt = performance.now();
  const until = startedAt + seconds * 1_000;
  let begun = 0;
  const published = await publishByMany(
    publishersOfEach * each.length,
    () => performance.now() < until,
    (publisher) =>
      (each[publisher % each.length] as Publishers).publish(broadcasterOf(begun++), newEventId()),
  );
  await receiver.waitFor(published.length, 60);
  const took = (performance.now() - startedAt) / 1_000;
  await receiver.requireAllOnce(published.length);
  for (const one of each) one.wire.close();
  return {
    deliveries: published.length / took,
    databaseInDeliveries: (cpuSecondsOfFamily(database.pid) - before) / took,
  };
}
