/** Returns a random number of up to 48 bits that distinguishes a process from the other replicas of its database. */
export function newReplica(): number {
  const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high % 2 ** 16) * 2 ** 32 + low + 1;
}
