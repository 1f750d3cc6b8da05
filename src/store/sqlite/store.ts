import type { Database } from "bun:sqlite";
import { lstatSync } from "node:fs";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { noOrders, noReplicas, soleOwnership } from "../../domain/replicas.ts";
import { type OnFault, type Store, signingKeySetting } from "../../domain/store.ts";
import { once } from "../../runtime/lazily.ts";
import {
  checkedBy,
  closingOnFault,
  type DataStorage,
  type OpenOptions,
  requireNotMoved,
} from "../data-storage.ts";
import { applicationStore } from "../drizzle/applications.ts";
import { idempotencyStore } from "../drizzle/idempotency.ts";
import { livestreamStore } from "../drizzle/livestreams.ts";
import { commonNouns } from "../drizzle/nouns.ts";
import { statisticStore } from "../drizzle/statistics.ts";
import { subscriptionStore } from "../drizzle/subscriptions.ts";
import { nounsOf } from "../effects.ts";
import { type Commit, groupCommit } from "./commit.ts";
import { deliveryStore } from "./deliveries.ts";
import { sqliteDialect } from "./dialect.ts";
import { databaseIn, lockDirectory } from "./directory.ts";
import { explainedFault, storageFaultOf } from "./faults.ts";
import { livestreamStatements, sqliteReplays, subscriptionStatements, userStore } from "./nouns.ts";
import { openDatabase, openForReading, openIfReady } from "./open.ts";
import { eventStore, receiving } from "./publish.ts";
import { retentionStore } from "./retention.ts";
import { databaseBytes, dataSize, sizesByKind } from "./sizes.ts";
import { Snapshots } from "./snapshots.ts";
import {
  afterStaged,
  erasingStaged,
  type StagedEvents,
  type StagingWriter,
  stagedEvents,
  stagedMovedBy,
  throughWriter,
} from "./staged.ts";
import { requireSameFiles, storageCheck } from "./storage-check.ts";

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
    copyTo: async (_, work) => (await copying()).copyToDirectory(directory, work),
  };
}

/** Opens the store of a data directory for this process alone. Throws a `StoreError` when it cannot be used. */
export function openStore(directory: string, { lock, onFault, ...events }: OpenOptions = {}): Store {
  const { db, ensureWriter, requireWriter, close } = openDatabase(directory, lock, events);
  const staged = stagedEvents(db);
  const publishing = groupCommit(db, {
    ensureWriter,
    begun: requireWriter,
    undone: staged.forget,
    check: requireSameFiles(directory),
  });
  const commit = staged.before(publishing);
  const moved = stagedMovedBy(db, () => commit(() => {}));
  const snapshots = new Snapshots(() => openForReading(directory));
  const closeAll = () => {
    snapshots.close();
    close();
  };
  const store = storeOn({ db, directory, commit, publishing, staged, moved, snapshots, onFault });
  // Closes after a last commit, so that all earlier writes are on disk. If it fails, the log has them for the next
  // start.
  return Object.assign(store, { close: once(() => commit(() => {}).then(closeAll, closeAll)) });
}

/** Opens a read-only view of the store for another thread of its process. `writer` is the store that writes. */
export function openReader(directory: string, onFault?: OnFault, writer?: StagingWriter): Store {
  return readerOn(directory, openForReading(directory), onFault, writer);
}

/**
 * Opens a read-only view of the store, as `openReader` does, before the store is open. Returns null when the database
 * cannot be read yet; see `openIfReady`.
 */
function openReaderIfReady(directory: string, onFault?: OnFault, writer?: StagingWriter): Store | null {
  const db = openIfReady(directory);
  return db && readerOn(directory, db, onFault, writer);
}

function readerOn(directory: string, db: Database, onFault?: OnFault, writer?: StagingWriter): Store {
  const commit: Commit = () => Promise.reject(new Error("this thread must not write"));
  const moved = writer ? stagedMovedBy(db, throughWriter(writer)) : async () => {};
  const snapshots = new Snapshots(() => openForReading(directory));
  const close = async () => {
    snapshots.close();
    db.close();
  };
  const staged = stagedEvents(db);
  const store = storeOn({ db, directory, commit, publishing: commit, staged, moved, snapshots, onFault });
  return Object.assign(store, { close });
}

interface StoreParts {
  readonly db: Database;
  readonly directory: string;
  /** Stages nothing, and moves staged events before its work. */
  readonly commit: Commit;
  /** Leaves staged events where they are. */
  readonly publishing: Commit;
  readonly staged: StagedEvents;
  /** Resolves when staged events have been moved. */
  readonly moved: () => Promise<void>;
  readonly snapshots: Snapshots;
  readonly onFault: OnFault | undefined;
}

function storeOn(parts: StoreParts): Omit<Store, "close"> {
  const { db, directory, commit, publishing, staged, moved, snapshots, onFault = () => {} } = parts;
  const orm = drizzle(db);
  const dialect = sqliteDialect(orm, commit);
  const known = receiving(orm);
  const size = once(() => dataSize(db));
  const after = afterStaged(moved);
  const sizes = {
    databaseBytes: async () => databaseBytes(db),
    kindSizes: async () => sizesByKind(db),
    connectionUse: async () => null,
  };
  const makers = {
    ...commonNouns(dialect),
    applications: () => applicationStore(sqliteDialect(orm, known.forgottenBy(commit))),
    users: () => userStore(db, orm, commit, dialect),
    livestreams: () => livestreamStore(dialect, livestreamStatements(db, orm)),
    subscriptions: () =>
      after.subscriptions(subscriptionStore(dialect, subscriptionStatements(orm, snapshots))),
    events: () => after.events(eventStore(db, orm, publishing, known, staged, size())),
    // It writes before and after a publication, which would move each event alone.
    idempotency: () => idempotencyStore(sqliteDialect(orm, publishing)),
    deliveries: () => after.deliveries(deliveryStore(db, orm, commit, { dialect, snapshots })),
    replays: () => sqliteReplays(db, orm, dialect),
    statistics: () => statisticStore(dialect, sizes),
    retention: () => erasingStaged(db, commit, retentionStore(orm, commit, size())),
    orders: () => noOrders,
  };
  const file = databaseIn(directory);
  return nounsOf(makers, (error) => explainedFault(error, file, onFault));
}
