import type { Cost, Costs } from "./costs.ts";

/** A platform: its rate of events, and the size of its deployment. */
interface Platform {
  readonly eventsPerSecond: number;
  readonly replicas: number;
  readonly databaseCores: number;
}

/** Assumptions that are not measured. */
interface Given {
  /** Processor time of a replica for an event from its publishing to its record. */
  readonly replicaMs: number;
  /** A sync of the database's disk. */
  readonly syncMs: number;
  /** Round trip from a replica to the database. */
  readonly roundTripMs: number;
}

export interface Capacity {
  /** Processor time per second, in cores. */
  readonly database: number;
  readonly replica: number;
  /** The database's processor time by purpose, in milliseconds per second. */
  readonly parts: Readonly<Record<"publish" | "record" | "notifications" | "idle", number>>;
  /** Mean number of events per statement. */
  readonly batch: number;
  readonly keepsUp: boolean;
}

/** Maximum number of entries in a statement that publishes or records. */
const mostEntries = 256;
/** Maximum number of applications named by a notification. */
const mostNotified = 200;

/** The load on replicas and their database by events that arrive at random, each with one delivery. */
export function capacityFor(platform: Platform, costs: Costs, given: Given): Capacity {
  const { eventsPerSecond, replicas, databaseCores } = platform;
  const perReplica = eventsPerSecond / replicas;
  const batch = gathered(costs.publish, perReplica, 1, given);
  // The results of a statement's events arrive together, at one of the replicas.
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
 * Mean number of entries per statement. A replica runs one statement at a time. Entries that arrive meanwhile, in
 * groups of `size`, go into the next; if none arrive, the next has one group.
 */
function gathered(
  { fixedMs, eachMs }: Cost,
  perSecond: number,
  size: number,
  { roundTripMs, syncMs }: Given,
): number {
  let groups = 1;
  for (let i = 0; i < 100; i++) {
    // A commit waits for the sync in progress, and for its own.
    const ms = roundTripMs + 1.5 * syncMs + fixedMs + eachMs * groups * size;
    const come = (perSecond / 1_000 / size) * ms;
    groups = Math.min(mostEntries / size, come + Math.exp(-come));
  }
  return groups * size;
}

/** Notifications per second: each replica notifies the others of events that it published for their endpoints. */
function notificationsMs(statements: number, replicas: number, cost: Cost, batch: number): number {
  if (replicas === 1) return 0;
  return statements * Math.max(1, batch / mostNotified) * (cost.fixedMs + replicas * cost.eachMs);
}
