/** What an attempt takes of memory at most as a rule: a connection with TLS, its buffers, the request, the answer. */
const bytesPerConnection = 64 * 1024;
/** The part of the memory that deliveries may take. */
const memoryPart = 1 / 8;
/** For the database, the log, and what is opened for a moment. */
const otherDescriptors = 64;
/** Ports to one address, of which closed connections keep some for a minute, are no more than twice as many. */
const mostConnections = 16_384;
const leastConnections = 16;

/**
 * How many connections deliveries may have, those that wait for their next use included.
 *
 * @param limits.descriptors what is left of them; null where the system does not tell
 * @param limits.memory bytes that this process may use
 */
export function connectionCapacity(limits: {
  readonly descriptors: number | null;
  readonly memory: number;
}): number {
  const byDescriptors = (limits.descriptors ?? mostConnections) - otherDescriptors;
  const byMemory = Math.floor((limits.memory * memoryPart) / bytesPerConnection);
  return Math.max(leastConnections, Math.min(mostConnections, byDescriptors, byMemory));
}
