import type { Ownership, ReplicaLink } from "../domain/replicas.ts";
import type { DatabaseFacts, KindSizes } from "../domain/sizes.ts";
import type { CheckStorage, OnFault, StorageFault, Store } from "../domain/store.ts";
import { type CopySource, type CopyTarget, copyingSetting, incomplete, moved, movedSetting } from "./copy.ts";
import { type DataLocation, namedDataLocation, shownDataLocation } from "./location.ts";

/** A store that is open for writing. */
export interface OpenStorage {
  readonly store: Store;
  /** The endpoints that this process delivers to. */
  readonly ownership: Ownership;
  /** Change notifications of other processes on the same storage. */
  readonly replicas: ReplicaLink;
  readonly check: CheckStorage;
}

/** The lock of a data directory, held until `close`. */
export interface DirectoryLock {
  close(): void;
}

/** Events that two processes wrote at once. */
export interface WriterConflict {
  /** Events whose deliveries got other numbers. They are delivered. */
  readonly renumbered: number;
  /** Events with the id of another event, which are not delivered but kept in `file`. */
  readonly setAside: number;
  readonly file: string;
}

export interface OpenOptions {
  /** Called with the name of each migration of an older database before it begins. */
  readonly applying?: ((name: string) => void) | undefined;
  /** Called when two processes have written at once, and left events with the same numbers or ids. */
  readonly conflicted?: ((conflict: WriterConflict) => void) | undefined;
  /** The lock of the directory, if the caller already has it. */
  readonly lock?: DirectoryLock | undefined;
  readonly onFault?: OnFault | undefined;
  /** The number of this process among the replicas of a PostgreSQL database; null for a new number. */
  readonly replica?: number | null | undefined;
}

/** The data at a location, and the ways to open it. Each method throws `StoreError` when it cannot be used. */
export interface DataStorage {
  readonly location: DataLocation;
  /** Whether there is data. */
  hasData(): Promise<boolean>;
  /** Locks a data directory for this process, and creates it if it is missing. Returns null for a database. */
  lock(): DirectoryLock | null;
  /** Opens the store for writing, and migrates it to the newest schema. */
  open(options?: OpenOptions): Promise<OpenStorage>;
  /**
   * Opens the store read-only for another thread, in the process that has it open for writing.
   *
   * @param writer the store that is open for writing
   */
  openReading(onFault: OnFault, writer: Pick<Store, "deliveries">): Promise<Store>;
  /**
   * Opens the store read-only before it is open for writing. Returns null if it is not readable or has no signing key
   * yet.
   */
  openReadingIfReady(onFault: OnFault, writer: Pick<Store, "deliveries">): Promise<Store | null>;
  /** Opens data that no server uses as the source of a copy. */
  openToCopy(): Promise<CopySource>;
  /** Calls `work` with the store to fill. The data is usable once `work` has succeeded; else it is removed. */
  copyTo<T>(work: (target: CopyTarget) => Promise<T>): Promise<T>;
}

/** A host of a database that accepts writes. */
export interface WritableHost {
  readonly host: string;
  /** Each promotion of a standby begins a new timeline, with a higher number. */
  readonly timeline: number;
}

/** The data in a database server. */
export interface DatabaseStorage extends DataStorage {
  /** Returns the names of applied and pending migrations. Changes nothing. */
  schema(): Promise<{ readonly applied: readonly string[]; readonly pending: readonly string[] }>;
  /** Migrates to the newest schema. `applying` is called with the name of each migration before it begins. */
  migrate(applying: (name: string) => void): Promise<void>;
  /** Reads the facts and sizes of a database with the current schema. */
  facts(): Promise<{
    readonly facts: DatabaseFacts & { readonly version: string };
    readonly kinds: KindSizes;
  }>;
  /** Returns the hosts that accept writes, those with the newest timeline first; null if the URL names one host. */
  writableHosts(): Promise<readonly WritableHost[] | null>;
}

/** Throws a `StoreError` when the data was moved to another location, or a copy to this location is incomplete. */
export async function requireNotMoved(store: Pick<Store, "settings">, location: DataLocation): Promise<void> {
  const named = shownDataLocation(location);
  if ((await store.settings.get(copyingSetting)) !== null) throw incomplete(named);
  const to = await store.settings.get(movedSetting);
  if (to !== null) throw moved(named, namedDataLocation(location), to);
}

/** Closes the store if the check rejects. */
export async function closingOnFault(store: Store, check: Promise<void>): Promise<void> {
  try {
    await check;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The setting that is written to test whether the storage takes writes. */
const checkedSetting = "storage_checked_at";

/**
 * Returns a check that also writes while the storage is troubled.
 *
 * @param look checks the storage without writing
 */
export function checkedBy(
  store: Store,
  look: CheckStorage,
  faultOf: (error: unknown) => StorageFault,
): CheckStorage {
  return async (isTroubled) => {
    const fault = await look(isTroubled);
    if (fault !== null || !isTroubled) return fault;
    const written = store.settings.put(checkedSetting, new Date().toISOString());
    return written.then(() => null, faultOf);
  };
}
