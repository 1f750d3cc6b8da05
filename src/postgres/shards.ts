import { newReplica } from "../domain/ids.ts";
import type { Queries } from "./pool.ts";

/** The number of shards. It must not change, because stored ownership of endpoints depends on it. */
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
