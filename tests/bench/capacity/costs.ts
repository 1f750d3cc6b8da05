import { SQL } from "bun";
import type { AttemptResult, DueDelivery } from "../../../src/domain/deliveries.ts";
import { channelFollowed } from "../../../src/domain/events/built-in.ts";
import type { Store } from "../../../src/domain/store.ts";
import { userFrom } from "../../../src/domain/users.ts";
import { openPostgresStore } from "../../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../../src/store/database-url.ts";
import { storedApplication } from "../../support/store.ts";
import { type Database, startDatabase } from "../replicas/database.ts";
import type { Bench } from "../support/bench.ts";
import { startOnAir } from "../support/onair.ts";
import { cpuSecondsOfFamily } from "../support/processes.ts";
import { eventText, newEventId } from "../support/publishers.ts";

/** Processor time of the database for a statement with n entries: `fixedMs + n * eachMs`. */
export interface Cost {
  readonly fixedMs: number;
  readonly eachMs: number;
}

/** Measured costs of the database. */
export interface Costs {
  readonly publish: Cost;
  readonly record: Cost;
  /** Cost of a notification, and of each connection that listens to it. */
  readonly notification: Cost;
  /** Processor time per second for an idle replica. */
  readonly idleReplicaMs: number;
  /** Bytes written to the WAL, and stored, for an event with one delivery. */
  readonly logBytes: number;
  readonly keptBytes: number;
}

const sizes = [1, 4, 16, 64, 256] as const;
const entries = 4_096;
const applications = 64;
const at = "2026-01-14T16:00:00Z";

/** Measures a private PostgreSQL. */
export async function measureCosts(bench: Bench): Promise<Costs> {
  const database = await startDatabase();
  try {
    const idleReplicaMs = await idleCost(bench, database);
    const store = await openPostgresStore(readDatabaseUrl(database.url), { connections: 4 });
    await fill(store);
    await statements(store, database, 64); // caches and prepared statements
    const before = await bytesOf(database.url);
    const { publish, record, events } = await statements(store, database, entries);
    const after = await bytesOf(database.url);
    await store.close();
    return {
      publish,
      record,
      notification: await notificationCost(database),
      idleReplicaMs,
      logBytes: (after.log - before.log) / events,
      keptBytes: (after.kept - before.kept) / events,
    };
  } finally {
    await database.stop();
  }
}

async function fill(store: Store): Promise<void> {
  await store.users.upsert(
    Array.from({ length: applications }, (_, i) => userFrom({ id: i + 1, username: `user-${i + 1}` })),
    at,
  );
  for (let i = 0; i < applications; i++) {
    const applicationId = await storedApplication(store, {});
    const wanted = [{ broadcaster_user_id: i + 1, event: channelFollowed.name, version: 1 }];
    await store.subscriptions.subscribe({ applicationId, wanted, limit: 10 }, Date.parse(at));
  }
  await store.deliveries.releaseAll();
}

interface Point {
  readonly size: number;
  readonly ms: number;
}

/** Publishes and records this many events in groups of each size. */
async function statements(store: Store, database: Database, count: number) {
  const published: Point[] = [];
  const recorded: Point[] = [];
  let events = 0;
  for (const size of sizes) {
    // Processor time has a resolution of 10 ms, so each size needs many statements.
    const rounds = Math.max(8, Math.ceil(count / size / (size > 16 ? 1 : 4)));
    const groups: (readonly DueDelivery[])[] = [];
    const publishing = await cpuMs(database, async () => {
      for (let round = 0; round < rounds; round++) groups.push(await publishGroup(store, size));
    });
    const recording = await cpuMs(database, async () => {
      for (const group of groups) await store.deliveries.record(group.map(delivered), []);
    });
    events += rounds * size;
    published.push({ size, ms: publishing / rounds });
    recorded.push({ size, ms: recording / rounds });
  }
  return { publish: lineThrough(published), record: lineThrough(recorded), events };
}

async function publishGroup(store: Store, size: number): Promise<DueDelivery[]> {
  const stored = await Promise.all(
    Array.from({ length: size }, () => {
      const broadcaster_user_id = 1 + Math.floor(Math.random() * applications);
      const id = newEventId();
      const body = eventText(broadcaster_user_id, id);
      const fingerprint = Buffer.from(id);
      const event = { id, name: channelFollowed.name, version: 1, broadcaster_user_id, body, fingerprint };
      return store.events.publish({ ...event, published_at: Date.now(), expires_at: null }, () => true);
    }),
  );
  return stored.flatMap(({ taken }) => taken);
}

function delivered({ seq }: DueDelivery): AttemptResult {
  const now = Date.now();
  const timings = { dnsMs: 0, connectMs: 0, tlsMs: null, firstByteMs: 12 };
  const sent = { at: now, outcome: "delivered", status: 200, duration_ms: 12 };
  const attempt = { ...sent, timings, error: null, response: "" };
  const counts = { attempts: 1, extra_attempts: 0, generation: 0 };
  return { seq, at: now, attempt, ...counts, status: "delivered", next_attempt_at: null, resume_at: null };
}

async function cpuMs(database: Database, work: () => Promise<void>): Promise<number> {
  const before = cpuSecondsOfFamily(database.pid);
  await work();
  return (cpuSecondsOfFamily(database.pid) - before) * 1_000;
}

/** The line through points, by least squares of the relative error: small groups count as much as large ones. */
function lineThrough(points: readonly Point[]): Cost {
  let [w, wx, wy, wxx, wxy] = [0, 0, 0, 0, 0];
  for (const { size, ms } of points) {
    const weight = 1 / Math.max(ms, 1e-6) ** 2;
    w += weight;
    wx += weight * size;
    wy += weight * ms;
    wxx += weight * size * size;
    wxy += weight * size * ms;
  }
  const eachMs = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  return { fixedMs: Math.max(0, (wy - eachMs * wx) / w), eachMs };
}

/** Notifications with 1 and with 16 connections that listen. */
async function notificationCost(database: Database): Promise<Cost> {
  const sent = 4_000;
  const points: Point[] = [];
  for (const size of [1, 16]) {
    const listeners = Array.from({ length: size }, () => new SQL(database.url, { max: 1 }));
    for (const listener of listeners) await listener.unsafe("LISTEN simulated");
    const sender = new SQL(database.url, { max: 1 });
    const ms = await cpuMs(database, async () => {
      for (let i = 0; i < sent; i++) await sender.unsafe("SELECT pg_notify('simulated', $1)", [`${i}`]);
      await Bun.sleep(500); // the listeners' processes read on
    });
    points.push({ size, ms: ms / sent });
    for (const one of [...listeners, sender]) await one.close({ timeout: 0 });
  }
  return lineThrough(points);
}

/** The database's cost of idle replicas: that of four less that of one. */
async function idleCost(bench: Bench, database: Database): Promise<number> {
  const seconds = 8;
  const perSecond: number[] = [];
  for (const count of [1, 4]) {
    const replicas = await Promise.all(
      Array.from({ length: count }, () => startOnAir(bench, { database: database.url, cpus: "0,1" })),
    );
    await Bun.sleep(5_000); // shares are settled
    perSecond.push((await cpuMs(database, () => Bun.sleep(seconds * 1_000))) / seconds);
    for (const replica of replicas) await replica.stop();
  }
  const [one = 0, four = 0] = perSecond;
  return (four - one) / 3;
}

async function bytesOf(url: string): Promise<{ log: number; kept: number }> {
  const sql = new SQL(url, { max: 1 });
  const [row] =
    await sql`SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS log, pg_database_size(current_database()) AS kept`;
  await sql.close();
  return { log: Number(row.log), kept: Number(row.kept) };
}
