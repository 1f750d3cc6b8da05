/** The data directory or database cannot be used; the message says why and what to do. */
export class StoreError extends Error {
  override name = "StoreError";
  /** `isMisuse`: what was named is not fit for it, whenever it is tried. */
  constructor(
    message: string,
    readonly isMisuse = false,
  ) {
    super(message);
  }
}

/**
 * Why a database that is served cannot be used: its disk has no room, or fails; what was read is damaged; its file
 * is no longer there; or its server cannot be reached.
 */
export type StorageFault = "full" | "failing" | "damaged" | "replaced" | "unreachable";

/** Called for each read or write that finds that the storage cannot be used. */
export type OnFault = (fault: StorageFault) => void;

/** Checks the storage; `isTroubled` asks for a write as well. Resolves to what is wrong with it, or null. */
export type CheckStorage = (isTroubled: boolean) => Promise<StorageFault | null>;
