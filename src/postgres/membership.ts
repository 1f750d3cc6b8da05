import type { Queries } from "./pool.ts";
import type { OwnedShard } from "./shards.ts";

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
