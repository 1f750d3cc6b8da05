import type { DataStorage } from "../store/data-storage.ts";
import type { DatabaseSettings, DataLocation } from "../store/location.ts";
import { directoryStorage } from "../store/sqlite/store.ts";

/** Returns the data at a location, for servers and commands. Does not open it. */
export async function storageAt(location: DataLocation): Promise<DataStorage> {
  return "directory" in location ? directoryStorage(location.directory) : databaseAt(location.database);
}

/** Returns the data in a database. This is the only place that loads `postgres/`. */
export async function databaseAt(database: DatabaseSettings) {
  const { databaseStorage } = await import("../postgres/door.ts");
  return databaseStorage(database);
}
