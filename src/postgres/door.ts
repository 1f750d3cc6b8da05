import { type Store, signingKeySetting } from "../domain/store.ts";
import { checkedBy, closingOnFault, type DatabaseStorage, requireNotMoved } from "../store/data-storage.ts";
import { type DatabaseSettings, directly, readDatabaseUrl } from "../store/location.ts";
import { postgresFacts, sizesByKind, writableHosts } from "./facts.ts";
import { storageFaultOf } from "./faults.ts";
import { Peers, type PeersOptions } from "./peers.ts";
import { openPool } from "./pool.ts";
import { openPostgres, openPostgresReader, openPostgresReplica, schemaOf } from "./store.ts";

/*
 * The only module of this room that the other rooms import. It is loaded only where the data is in PostgreSQL.
 */

/** Loaded on demand: no server copies its data. */
const copying = () => import("./copy.ts");

/** The data in a PostgreSQL database, which several servers share. */
interface SharedStorage extends DatabaseStorage {
  /** Returns the link of the main thread to the other servers. */
  peers(options: PeersOptions): Peers;
}

/** Returns the data in a database. Throws a `TypeError` for a URL that is not one of PostgreSQL. */
export function databaseStorage(database: DatabaseSettings): SharedStorage {
  const location = { database };
  const { url, direct, connections } = database;
  const [settings, directSettings] = [readDatabaseUrl(url), directly(database)];
  const isPooled = direct !== null;
  const schema = () => schemaOf(directSettings);
  const faultOf = (error: unknown) => storageFaultOf(error) ?? "failing";
  return {
    location,
    hasData: async () => (await schema()).applied.length > 0,
    lock: () => null,
    async open({ onFault, applying, replica } = {}) {
      // Migrations need one transaction, and may take longer than a pooler allows.
      if (isPooled) await (await openPostgres(directSettings, { connections: 1 }, applying)).close();
      const options = { connections: Math.ceil(connections / 2), isPooled, onFault, applying, replica };
      const check = (opened: Store) => requireNotMoved(opened, location);
      const { store, ownership, replicas, takeSpace } = await openPostgresReplica(
        settings,
        directSettings,
        options,
        check,
      );
      await closingOnFault(store, check(store));
      const look = async (isTroubled: boolean) => {
        try {
          await store.settings.get(signingKeySetting);
          if (isTroubled) await takeSpace();
          return null;
        } catch (error) {
          return faultOf(error);
        }
      };
      return { store, ownership, replicas, check: checkedBy(store, look, faultOf) };
    },
    async openReading(onFault) {
      return openPostgresReader(settings, { connections: Math.floor(connections / 2), isPooled }, onFault);
    },
    // It would take as long as opening the store for writing.
    openReadingIfReady: async () => null,
    openToCopy: async () => (await copying()).databaseToCopy(directSettings),
    copyTo: async (tables, work) => (await copying()).copyToDatabase(directSettings, tables, work),

    schema,
    async migrate(applying) {
      await (await openPostgres(directSettings, { connections: 1 }, applying)).close();
    },
    async facts() {
      const pool = openPool(directSettings, { connections: 1, isReader: true });
      const read = Promise.all([postgresFacts(pool), sizesByKind(pool)]);
      const [facts, kinds] = await read.finally(() => pool.close());
      return { facts, kinds };
    },
    writableHosts: async () => (directSettings.others.length === 0 ? null : writableHosts(directSettings)),
    peers: (options) => new Peers(options),
  };
}
