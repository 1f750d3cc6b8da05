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
