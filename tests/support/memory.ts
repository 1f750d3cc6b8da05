/** Bytes of memory that are in use by objects, those of buffers included, after what nobody uses was let go. */
export function usedBytes(): number {
  Bun.gc(true);
  return process.memoryUsage().heapUsed;
}
