import { newReplica } from "../domain/ids.ts";
import type { Queries } from "./pool.ts";

/** The number of shards of endpoints. It must not change, because stored ownership of endpoints depends on it. */
const shardCount = 256;

/** Returns the shard of an application's endpoint. FNV-1a spreads ids that differ only in their last digits. */
export function shardOf(applicationId: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < applicationId.length; i++) {
    hash = Math.imul(hash ^ applicationId.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 8) % shardCount;
}

/**
 * Assigns each shard to one of the replicas by rendezvous hashing, so that a replica that joins or leaves moves only
 * its own share. Every replica computes the same result.
 */
export function assignment(replicas: readonly number[]): number[] {
  return Array.from({ length: shardCount }, (_, shard) => {
    let best = replicas[0] ?? 0;
    for (const replica of replicas) {
      const difference = weight(shard, replica) - weight(shard, best);
      if (difference > 0 || (difference === 0 && replica < best)) best = replica;
    }
    return best;
  });
}

/** The finalizer of MurmurHash3, over both numbers. */
function weight(shard: number, replica: number): number {
  let hash = Math.imul(shard + 1, 0x9e3779b1) ^ (replica >>> 0) ^ Math.imul(replica / 2 ** 32, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The right of a process to claim and record deliveries of an application. */
export interface Fence {
  readonly application: string;
  readonly shard: number;
  /** -1 when the process does not own the shard. */
  readonly epoch: number;
}

/** A shard with the epoch of its owner. */
export interface OwnedShard {
  readonly shard: number;
  readonly epoch: number;
}

/**
 * The shards that this process owns, each with its epoch. A change of the owner begins a new epoch, and claims and
 * records of an earlier one are refused.
 */
export class OwnedShards {
  readonly #epochs = new Map<number, number>();

  /** @param replica the id of this process */
  constructor(readonly replica = newReplica()) {}

  /** Takes all shards from their owners. For a process that is alone. */
  async takeAll(connection: Queries): Promise<void> {
    this.has(
      await connection.run<OwnedShard>(
        "UPDATE endpoint_shards SET owner = $1, epoch = epoch + 1 RETURNING shard, epoch::float8",
        [this.replica],
      ),
    );
  }

  /** This process now owns these shards. */
  has(taken: readonly OwnedShard[]): void {
    for (const { shard, epoch } of taken) this.#epochs.set(shard, epoch);
  }

  /** This process no longer owns the shard. */
  loses(shard: number): void {
    this.#epochs.delete(shard);
  }

  epochOf(shard: number): number {
    return this.#epochs.get(shard) ?? -1;
  }

  get shards(): number[] {
    return [...this.#epochs.keys()];
  }

  of(application: string): Fence {
    const shard = shardOf(application);
    return { application, shard, epoch: this.epochOf(shard) };
  }
}

/** How long a replica counts as alive after its last heartbeat. */
export const leaseMs = 3_000;
/** How long the row of a dead replica remains. */
const forgottenAfterMs = 60_000;

/** The live replicas, and the owners of shards. */
export interface Members {
  /** The ids of all live replicas, including this one. */
  readonly alive: readonly number[];
  readonly shards: readonly (OwnedShard & { readonly owner: number | null })[];
}

/**
 * A heartbeat of a replica ($1), which renews its lease ($2 milliseconds). All times are of the database's clock. A
 * lease that ends later than now + $2 was begun before that clock was set back, and counts as over.
 */
const beating = `
WITH clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now),
renewed AS (
  INSERT INTO replicas (id, alive_until) SELECT $1, now + $2 FROM clock
  ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until
),
forgotten AS (DELETE FROM replicas r USING clock WHERE r.id <> $1 AND r.alive_until < now - ${forgottenAfterMs})
SELECT
  (SELECT coalesce(json_agg(r.id), '[]') FROM replicas r, clock
   WHERE r.id <> $1 AND r.alive_until BETWEEN now AND now + $2) AS others,
  (SELECT json_agg(json_build_object('shard', shard, 'owner', owner, 'epoch', epoch)) FROM endpoint_shards) AS shards`;

/**
 * Skips locked shards until the next heartbeat: the process that holds the lock may be stopped inside a transaction.
 */
const locked = `
WITH wanted AS (
  SELECT s.shard FROM endpoint_shards s
  JOIN unnest($2::smallint[], $3::bigint[]) AS w(shard, epoch) ON w.shard = s.shard AND w.epoch = s.epoch
  ORDER BY s.shard FOR UPDATE OF s SKIP LOCKED
)`;

const taking = `${locked}
UPDATE endpoint_shards s SET owner = $1, epoch = s.epoch + 1 FROM wanted WHERE s.shard = wanted.shard
RETURNING s.shard, s.epoch::float8`;

const releasing = `${locked}
UPDATE endpoint_shards s SET owner = NULL, epoch = s.epoch + 1 FROM wanted
WHERE s.shard = wanted.shard AND s.owner = $1`;

/** Whether any replica is alive, by the database's clock. */
export async function isAnyAlive({ run }: Queries): Promise<boolean> {
  const alive =
    "SELECT FROM replicas WHERE alive_until > extract(epoch FROM clock_timestamp()) * 1000 LIMIT 1";
  return (await run(alive)).length > 0;
}

const parameters = (replica: number, shards: readonly OwnedShard[]) => [
  replica,
  shards.map(({ shard }) => shard),
  shards.map(({ epoch }) => epoch),
];

/** Renews the lease of a replica. Returns the live replicas and the owners of shards. */
export async function beat(queries: Queries, replica: number): Promise<Members> {
  const [row] = await queries.run<{ others: number[]; shards: Members["shards"] }>(beating, [
    replica,
    leaseMs,
  ]);
  if (!row) throw new Error("a heartbeat gave no row");
  return { alive: [replica, ...row.others], shards: row.shards };
}

/** Takes shards that are still in these epochs. Returns the shards taken, with their new epochs. */
export function take(
  queries: Queries,
  replica: number,
  shards: readonly OwnedShard[],
): Promise<OwnedShard[]> {
  return queries.run<OwnedShard>(taking, parameters(replica, shards));
}

/** Releases those shards that the replica still owns in these epochs. */
export async function release(
  queries: Queries,
  replica: number,
  shards: readonly OwnedShard[],
): Promise<void> {
  await queries.run(releasing, parameters(replica, shards));
}

/** Ends the lease of a replica that no longer owns shards. */
export async function withdraw(queries: Queries, replica: number): Promise<void> {
  await queries.run("DELETE FROM replicas WHERE id = $1", [replica]);
}
