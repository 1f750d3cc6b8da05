/** The usual upper bound of memory per attempt: a connection with TLS, its buffers, the request and the response. */
const bytesPerConnection = 64 * 1024;
/** The share of memory for connections of deliveries. */
const memoryPart = 1 / 8;
/**
 * The share of descriptors for connections of deliveries. A quarter is for public connections, before they have to make
 * room (`serving/descriptor-watch.ts`), and another one for the admin listener and files.
 */
const descriptorPart = 1 / 2;
/** Of that share, descriptors left to the database, the log, and files that are open for a short time. */
const otherDescriptors = 64;
/** About half of the local ports for one address, because a closed connection keeps its port for a while. */
const maxConnections = 16_384;
const minConnections = 16;

/**
 * Returns how many connections deliveries may have, idle ones included.
 *
 * @param limits.descriptors the limit of open descriptors; null if the system does not report it
 * @param limits.memory bytes that this process may use
 */
export function connectionCapacity(limits: {
  readonly descriptors: number | null;
  readonly memory: number;
}): number {
  const { descriptors } = limits;
  const byDescriptors =
    descriptors === null ? maxConnections : Math.floor(descriptors * descriptorPart) - otherDescriptors;
  const byMemory = Math.floor((limits.memory * memoryPart) / bytesPerConnection);
  return Math.max(minConnections, Math.min(maxConnections, byDescriptors, byMemory));
}
