import { randomInt } from "node:crypto";
import type { Queries } from "../database/pool.ts";
import { shardOf } from "../replicas/shards.ts";

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
  constructor(readonly replica = randomInt(1, 2 ** 48 - 1)) {}

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
