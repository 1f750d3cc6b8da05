/** The data directory or database cannot be used; the message says why and what to do. */
export class StoreError extends Error {
  override name = "StoreError";
}

/**
 * Why a database that is served cannot be used: its disk has no room, or fails; what was read is damaged; its file
 * is no longer there; or its server cannot be reached.
 */
export type StorageFault = "full" | "failing" | "damaged" | "replaced" | "unreachable";
