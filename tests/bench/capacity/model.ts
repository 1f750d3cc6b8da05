import type { Cost, Costs } from "./costs.ts";

/** A platform: what it publishes, and on how much it runs. */
interface Platform {
  readonly eventsPerSecond: number;
  readonly replicas: number;
  readonly databaseCores: number;
}

/** What is not measured, but given. */
interface Given {
  /** Processor time of a replica for an event from its publishing to its record. */
  readonly replicaMs: number;
  /** A sync of the database's disk. */
  readonly syncMs: number;
  /** From a replica to the database and back. */
  readonly roundTripMs: number;
}

export interface Capacity {
  /** Processor time of a second, in cores. */
  readonly database: number;
  readonly replica: number;
  /** Of the database: what it goes into, in milliseconds of a second. */
  readonly parts: Readonly<Record<"publish" | "record" | "notifications" | "idle", number>>;
  /** Events that one statement keeps, on average. */
  readonly batch: number;
  readonly keepsUp: boolean;
}

/** Entries of a statement that publishes or records, at most. */
const mostEntries = 256;
/** A notification names so many applications at most. */
const mostNotified = 200;

/** What events that come at random, each with one delivery, ask of replicas and of their database. */
export function capacityFor(platform: Platform, costs: Costs, given: Given): Capacity {
  const { eventsPerSecond, replicas, databaseCores } = platform;
  const perReplica = eventsPerSecond / replicas;
  const batch = gathered(costs.publish, perReplica, 1, given);
  // The results of a statement's events come together, to one of the replicas.
  const recorded = gathered(costs.record, perReplica, batch, given);
  const statements = eventsPerSecond / batch;
  const parts = {
    publish: statements * costs.publish.fixedMs + eventsPerSecond * costs.publish.eachMs,
    record: (eventsPerSecond / recorded) * costs.record.fixedMs + eventsPerSecond * costs.record.eachMs,
    notifications: notificationsMs(statements, replicas, costs.notification, batch),
    idle: replicas * costs.idleReplicaMs,
  };
  const database = (parts.publish + parts.record + parts.notifications + parts.idle) / 1_000;
  const replica = (perReplica * given.replicaMs) / 1_000;
  return { database, replica, parts, batch, keepsUp: database < databaseCores && replica < 1 };
}

/**
 * Entries of a statement, on average: in a replica one is under way at a time, and what comes meanwhile, in groups of
 * `size`, gathers for the next; where nothing does, the next has one group.
 */
function gathered(
  { fixedMs, eachMs }: Cost,
  perSecond: number,
  size: number,
  { roundTripMs, syncMs }: Given,
): number {
  let groups = 1;
  for (let i = 0; i < 100; i++) {
    // A commit waits for the sync that is under way, and for its own.
    const ms = roundTripMs + 1.5 * syncMs + fixedMs + eachMs * groups * size;
    const come = (perSecond / 1_000 / size) * ms;
    groups = Math.min(mostEntries / size, come + Math.exp(-come));
  }
  return groups * size;
}

/** In a second: each replica tells the others of what it has published for their endpoints. */
function notificationsMs(statements: number, replicas: number, cost: Cost, batch: number): number {
  if (replicas === 1) return 0;
  return statements * Math.max(1, batch / mostNotified) * (cost.fixedMs + replicas * cost.eachMs);
}
