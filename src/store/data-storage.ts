import type { Table } from "drizzle-orm";
import type { Ownership, ReplicaLink } from "../domain/replicas.ts";
import type { DatabaseFacts, KindSizes } from "../domain/sizes.ts";
import {
  type CheckStorage,
  type OnFault,
  type StorageFault,
  type Store,
  StoreError,
} from "../domain/store.ts";
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
  /**
   * Calls `work` with the store to fill, whose tables are empty. The data is usable once `work` has succeeded; else it
   * is removed.
   */
  copyTo<T>(tables: readonly Table[], work: (target: CopyTarget) => Promise<T>): Promise<T>;
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

/**
 * A row with the values of SQLite: booleans are 0 and 1, JSON is text. The body of an event is text. A delivery has the
 * columns of its event that PostgreSQL's deliveries have, and its attempts as a JSON list in `attempt_log`.
 */
export type CopiedRow = Readonly<Record<string, string | number | Uint8Array | null>>;

/** A store that no server and no other copy uses until `close`. */
export interface CopySource {
  /** Returns the location in the mark of moved data; null without a mark. */
  mark(): Promise<string | null>;
  /** Sets the mark, or removes it with null. */
  setMark(to: string | null): Promise<void>;
  /** Calls `work` with the data of one moment. Throws a `StoreError` when servers use it. */
  read<T>(work: (data: CopiedData) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** All data of a store, by tables of SQLite. */
export interface CopiedData {
  /** Returns the number of rows of a copied table, or of attempts, which are copied with their deliveries. */
  count(table: Table): Promise<number>;
  /** The rows of a copied table in batches. */
  rows(table: Table): AsyncIterable<readonly CopiedRow[]>;
  /** Ids of events read so far whose bodies are damaged. Their rows have a null body. */
  readonly damagedBodies: readonly string[];
}

/** The store that is filled. No server can use this store before the copy is complete. */
export interface CopyTarget extends Pick<CopiedData, "count"> {
  /** Adds rows, after those that they refer to. */
  add(table: Table, rows: readonly CopiedRow[]): Promise<void>;
  /** Builds indexes, counters and statistics from the rows, when all rows are added. */
  derive(): Promise<void>;
}

/** The rows that are read, and passed on, at once. */
export const batchRows = 500;

/** The setting of a source with the location of the target. */
export const movedSetting = "moved_to";

/** The setting of a database that is being filled. It stays when the copy is killed. */
export const copyingSetting = "copying";

/** The settings that are copied, in SQL after `FROM`. The settings of copies are left out. */
export const copiedSettings = `settings WHERE key NOT IN ('${movedSetting}', '${copyingSetting}')`;

/**
 * The error for data that was moved to another location. `place` is the source as it may be shown; `named` is the
 * source as an option of `onair copy`.
 */
export const moved = (place: string, named: string, to: string) =>
  new StoreError(
    `The data of ${place} was moved to ${to}, or a copy to it was interrupted: serve ${to}, or copy again. If ${to} is not used, undo this: onair copy --reopen --from ${named}`,
    true,
  );

/** The error for a database that a running or killed copy has begun to fill. */
export const incomplete = (place: string) =>
  new StoreError(
    `${place} has no data: a copy to it is running or was interrupted. Begin the same onair copy again, into this empty database or another one.`,
    true,
  );

/** The error for a target that has data. */
export const notEmpty = (place: string) =>
  new StoreError(`${place} is not empty: copy into a new directory or a new database.`, true);

/** The error for data of an older version. `migrating` is the command that migrates it. */
export const tooOld = (place: string, migrating: string) =>
  new StoreError(`The data of ${place} is of an older version. Migrate it first: ${migrating}`, true);
