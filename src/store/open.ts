import { lstatSync } from "node:fs";
import { noReplicas, type Ownership, type ReplicaLink, soleOwnership } from "../domain/replicas.ts";
import {
  type CheckStorage,
  type OnFault,
  type StorageFault,
  type Store,
  signingKeySetting,
} from "../domain/store.ts";
import { requireNotMoved } from "../operations/copy.ts";
import { type DatabaseSettings, type DataLocation, readDatabaseUrl } from "./location.ts";
import { databaseIn } from "./sqlite/directory.ts";
import { storageFaultOf } from "./sqlite/faults.ts";
import { storageCheck } from "./sqlite/storage-check.ts";
import { type OpenOptions, openReader, openReaderIfReady, openStore } from "./sqlite/store.ts";

/** A store that is open for writing. */
export interface OpenStorage {
  readonly store: Store;
  /** The endpoints that this process delivers to. */
  readonly ownership: Ownership;
  /** Change notifications of other processes on the same storage. */
  readonly replicas: ReplicaLink;
  readonly check: CheckStorage;
}

interface StorageOptions extends OpenOptions {
  /** The number of this process among the replicas of a PostgreSQL database; null for a new one. */
  readonly replica?: number | null;
}

/** Opens the store of a location and migrates it to the newest schema. Throws `StoreError`. */
export async function openStorage(
  location: DataLocation,
  options: StorageOptions = {},
): Promise<OpenStorage> {
  if ("database" in location) return openDatabaseStorage(location.database, options);
  const store = openStore(location.directory, options);
  await closingOnFault(store, requireNotMoved(store, location));
  const lookAt = storageCheck(location.directory);
  const look = async (isTroubled: boolean) => lookAt(isTroubled);
  return {
    store,
    ownership: soleOwnership(() => store.deliveries.releaseAll()),
    replicas: noReplicas,
    check: checkedBy(store, look, (error) => storageFaultOf(error) ?? "failing"),
  };
}

/** The setting that is written to test whether the storage takes writes. */
const checkedSetting = "storage_checked_at";

/** @param look checks the storage without writing */
function checkedBy(
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

async function closingOnFault(store: Store, check: Promise<void>): Promise<void> {
  try {
    await check;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openDatabaseStorage(
  database: DatabaseSettings,
  { onFault, applying, replica }: StorageOptions,
): Promise<OpenStorage> {
  const { url, direct, connections } = database;
  // Loaded on demand, because few installations need it.
  const { openPostgres } = await import("../postgres/open.ts");
  const { storageFaultOf } = await import("../postgres/faults.ts");
  const { openPostgresReplica } = await import("../postgres/store.ts");
  // Migrations need one transaction, and may take longer than a pooler allows.
  if (direct !== null)
    await (await openPostgres(readDatabaseUrl(direct), { connections: 1 }, applying)).close();
  const options = {
    connections: Math.ceil(connections / 2),
    isPooled: direct !== null,
    onFault,
    applying,
    replica,
  };
  const [settings, directly] = [readDatabaseUrl(url), readDatabaseUrl(direct ?? url)];
  const check = (opened: Store) => requireNotMoved(opened, { database });
  const opened = await openPostgresReplica(settings, directly, options, check);
  const { store, ownership, replicas } = opened;
  await closingOnFault(store, check(store));
  const faultOf = (error: unknown) => storageFaultOf(error) ?? "failing";
  const look = () => store.settings.get(signingKeySetting).then(() => null, faultOf);
  return { store, ownership, replicas, check: checkedBy(store, look, faultOf) };
}

/**
 * Opens the store read-only for another thread, in the process that has it open for writing.
 *
 * @param writer the store that is open for writing
 */
export async function openReading(
  location: DataLocation,
  onFault: OnFault,
  writer: Pick<Store, "deliveries">,
): Promise<Store> {
  if ("directory" in location) return openReader(location.directory, onFault, writer);
  const { openPostgresReader } = await import("../postgres/store.ts");
  const { url, direct, connections } = location.database;
  const options = { connections: Math.floor(connections / 2), isPooled: direct !== null };
  return openPostgresReader(readDatabaseUrl(url), options, onFault);
}

/**
 * Like `openReading`, before the store is open for writing. Returns null if it is not readable or has no signing key
 * yet.
 */
export async function openReadingIfReady(
  location: DataLocation,
  onFault: OnFault,
  writer: Pick<Store, "deliveries">,
): Promise<Store | null> {
  // For PostgreSQL this would take as long as opening it for writing.
  if ("database" in location) return null;
  const reader = openReaderIfReady(location.directory, onFault, writer);
  const key = await reader?.settings.get(signingKeySetting).catch(() => null);
  if (reader === null || key !== null) return reader;
  await reader.close();
  return null;
}

/** Whether a location has data. Throws `StoreError` for a database that cannot be used. */
export async function hasData(location: DataLocation): Promise<boolean> {
  // `lstat`, because a dangling link counts as a database.
  if ("directory" in location) {
    return lstatSync(databaseIn(location.directory), { throwIfNoEntry: false }) !== undefined;
  }
  const { schemaOf } = await import("../postgres/open.ts");
  const { url, direct } = location.database;
  return (await schemaOf(readDatabaseUrl(direct ?? url))).applied.length > 0;
}
