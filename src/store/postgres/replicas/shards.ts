/** The shards that endpoints are divided into; part of the data, because it says which application is in which. */
const shardCount = 256;

/** FNV-1a: spreads ids that differ only in their last digits. */
export function shardOf(applicationId: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < applicationId.length; i++) {
    hash = Math.imul(hash ^ applicationId.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 8) % shardCount;
}

/**
 * Which of some replicas each shard is meant for, by rendezvous hashing: one that joins or leaves moves only its share.
 * Every replica comes to the same result.
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

/** Murmur3's last step, over both numbers. */
function weight(shard: number, replica: number): number {
  let hash = Math.imul(shard + 1, 0x9e3779b1) ^ (replica >>> 0) ^ Math.imul(replica / 2 ** 32, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
