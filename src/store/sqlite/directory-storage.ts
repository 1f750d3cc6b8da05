import { lstatSync } from "node:fs";
import { noReplicas, soleOwnership } from "../../domain/replicas.ts";
import { signingKeySetting } from "../../domain/store.ts";
import { checkedBy, closingOnFault, type DataStorage, requireNotMoved } from "../data-storage.ts";
import { databaseIn, lockDirectory } from "./directory.ts";
import { storageFaultOf } from "./faults.ts";
import { storageCheck } from "./storage-check.ts";
import { openReader, openReaderIfReady, openStore } from "./store.ts";

/** Loaded on demand: no server copies its data. */
const copying = () => import("./copy.ts");

/** The data in a directory. One process at a time has it open for writing. */
export function directoryStorage(directory: string): DataStorage {
  const location = { directory };
  return {
    location,
    // `lstat`, because a dangling link counts as a database.
    hasData: async () => lstatSync(databaseIn(directory), { throwIfNoEntry: false }) !== undefined,
    lock: () => lockDirectory(directory),
    async open(options) {
      const store = openStore(directory, options);
      await closingOnFault(store, requireNotMoved(store, location));
      const look = storageCheck(directory);
      return {
        store,
        ownership: soleOwnership(() => store.deliveries.releaseAll()),
        replicas: noReplicas,
        check: checkedBy(
          store,
          async (isTroubled) => look(isTroubled),
          (error) => storageFaultOf(error) ?? "failing",
        ),
      };
    },
    openReading: async (onFault, writer) => openReader(directory, onFault, writer),
    async openReadingIfReady(onFault, writer) {
      const reader = openReaderIfReady(directory, onFault, writer);
      const key = await reader?.settings.get(signingKeySetting).catch(() => null);
      if (reader === null || key !== null) return reader;
      await reader.close();
      return null;
    },
    openToCopy: async () => (await copying()).directoryToCopy(directory),
    copyTo: async (work) => (await copying()).copyToDirectory(directory, work),
  };
}
