import type { Queries } from "../database/pool.ts";
import type { OwnedShard } from "../deliveries/owned-shards.ts";

/** How long a replica is taken for alive after its last heartbeat. */
export const leaseMs = 3_000;
/** Replicas that have ended without a word are forgotten after that. */
const forgottenAfterMs = 60_000;

/** Who is alive, and who owns what. */
export interface Members {
  /** The ids of all that are alive, this one included. */
  readonly alive: readonly number[];
  readonly shards: readonly (OwnedShard & { readonly owner: number | null })[];
}

/**
 * One heartbeat of a replica ($1), whose lease ($2) begins anew. All times are those of the database's clock. A lease that
 * ends later than one which begins now is of a clock that was set back since: it is over, too.
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

/** What is locked is left for the next time: who holds the lock may have been stopped inside of a transaction. */
const locked = `
WITH wanted AS (
  SELECT s.shard FROM endpoint_shards s
  JOIN unnest($2::smallint[], $3::bigint[]) AS w(shard, epoch) ON w.shard = s.shard AND w.epoch = s.epoch
  ORDER BY s.shard FOR UPDATE OF s SKIP LOCKED
)`;

const taking = `${locked}
UPDATE endpoint_shards s SET owner = $1, epoch = s.epoch + 1 FROM wanted WHERE s.shard = wanted.shard
RETURNING s.shard, s.epoch::float8`;

const releasing = `
UPDATE endpoint_shards s SET owner = NULL, epoch = s.epoch + 1
FROM unnest($2::smallint[], $3::bigint[]) AS w(shard, epoch)
WHERE w.shard = s.shard AND w.epoch = s.epoch AND s.owner = $1`;

const parameters = (replica: number, shards: readonly OwnedShard[]) => [
  replica,
  shards.map(({ shard }) => shard),
  shards.map(({ epoch }) => epoch),
];

/** Renews the lease of a replica, and looks around. */
export async function beat(queries: Queries, replica: number): Promise<Members> {
  const [row] = await queries.run<{ others: number[]; shards: Members["shards"] }>(beating, [
    replica,
    leaseMs,
  ]);
  if (!row) throw new Error("a heartbeat gave no row");
  return { alive: [replica, ...row.others], shards: row.shards };
}

/** Takes shards that are still in these epochs; gives those that it has now. */
export function take(
  queries: Queries,
  replica: number,
  shards: readonly OwnedShard[],
): Promise<OwnedShard[]> {
  return queries.run<OwnedShard>(taking, parameters(replica, shards));
}

/** Gives shards away that are still its own. */
export async function release(
  queries: Queries,
  replica: number,
  shards: readonly OwnedShard[],
): Promise<void> {
  await queries.run(releasing, parameters(replica, shards));
}

/** Ends the lease of a replica, which owns nothing any more. */
export async function withdraw(queries: Queries, replica: number): Promise<void> {
  await queries.run("DELETE FROM replicas WHERE id = $1", [replica]);
}
