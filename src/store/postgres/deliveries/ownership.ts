import type { Queries } from "../database/pool.ts";

/** The shards that endpoints are divided into; part of the data, because it says which application is in which. */
const shardCount = 256;

/**
 * Which endpoints this process sends for: those of shards that it owns, each in an epoch. As long as there is one process
 * alone, it takes all of them when it starts; a former one that is still alive has lost them then.
 */
export class EndpointOwnership {
  #epochs = new Map<number, number>();

  /** @param owner the id of this process */
  constructor(readonly owner: string) {}

  /** Takes all shards, in a new epoch. */
  async takeAll(connection: Queries): Promise<void> {
    const taken = await connection.run<{ shard: number; epoch: number }>(
      `UPDATE endpoint_shards SET owner = $1, epoch = epoch + 1 RETURNING shard, epoch::float8`,
      [this.owner],
    );
    this.#epochs = new Map(taken.map(({ shard, epoch }) => [shard, epoch]));
  }

  /** Another process has taken these shards: what this one did in these epochs was refused. */
  lose(refused: ReadonlyMap<number, number>): void {
    for (const [shard, epoch] of refused) if (this.#epochs.get(shard) === epoch) this.#epochs.delete(shard);
  }

  /** Whether this process sends for an application, as far as it knows. */
  has(applicationId: string): boolean {
    return this.#epochs.has(shardOf(applicationId));
  }

  /** The shard of an application, and the epoch in which this process owns it; -1: it does not. */
  of(applicationId: string): { readonly shard: number; readonly epoch: number } {
    const shard = shardOf(applicationId);
    return { shard, epoch: this.#epochs.get(shard) ?? -1 };
  }
}

/** FNV-1a: spreads ids that differ only in their last digits. */
function shardOf(applicationId: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < applicationId.length; i++) {
    hash = Math.imul(hash ^ applicationId.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 8) % shardCount;
}
