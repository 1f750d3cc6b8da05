/** The data directory cannot be used; the message says why and what to do. */
export class StoreError extends Error {
  override name = "StoreError";
}

/**
 * Why a database that is served cannot be used: its disk has no room, or fails; what was read is damaged; or its file
 * is no longer there.
 */
export type StorageFault = "full" | "failing" | "damaged" | "replaced";
