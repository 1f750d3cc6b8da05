/** The data directory or database cannot be used; the message says why and what to do. */
export class StoreError extends Error {
  override name = "StoreError";
  /** @param isMisuse whether the given directory or database is unsuitable, so that trying again cannot help */
  constructor(
    message: string,
    readonly isMisuse = false,
  ) {
    super(message);
  }
}

/**
 * Why the database of a running server cannot be used: its disk is full or fails, its data is damaged, its file was
 * replaced or removed, another process has taken its directory, or its server cannot be reached.
 */
export type StorageFault = "full" | "failing" | "damaged" | "replaced" | "taken" | "unreachable";

/** Called for each read or write that fails because of the storage. */
export type OnFault = (fault: StorageFault) => void;

/** Checks the storage, with a test write if `isTroubled`. Resolves to the fault, or to null. */
export type CheckStorage = (isTroubled: boolean) => Promise<StorageFault | null>;
