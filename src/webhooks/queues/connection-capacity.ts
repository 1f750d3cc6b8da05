/** The memory of an attempt as a rule, at most: a connection with TLS, its buffers, the request, the answer. */
const bytesPerConnection = 64 * 1024;
/** The part of the memory that deliveries may take. */
const memoryPart = 1 / 8;
/** For the database, the log, and files that are opened for a moment. */
const otherDescriptors = 64;
/** Ports to one address are about twice as many, and closed connections keep theirs for a while. */
const maxConnections = 16_384;
const minConnections = 16;

/**
 * How many connections deliveries may have, kept ones included.
 *
 * @param limits.descriptors how many are left; null where the system does not tell
 * @param limits.memory bytes that this process may use
 */
export function connectionCapacity(limits: {
  readonly descriptors: number | null;
  readonly memory: number;
}): number {
  const byDescriptors = (limits.descriptors ?? maxConnections) - otherDescriptors;
  const byMemory = Math.floor((limits.memory * memoryPart) / bytesPerConnection);
  return Math.max(minConnections, Math.min(maxConnections, byDescriptors, byMemory));
}
