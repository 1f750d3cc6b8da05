import type { Database } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { noOrders } from "../../domain/replicas.ts";
import type { OnFault, Store } from "../../domain/store.ts";
import { once } from "../../runtime/lazily.ts";
import { applicationStore } from "../drizzle/applications.ts";
import { livestreamStore } from "../drizzle/livestreams.ts";
import { nounsOf, sharedNouns } from "../drizzle/nouns.ts";
import { statisticStore } from "../drizzle/statistics.ts";
import { subscriptionStore } from "../drizzle/subscriptions.ts";
import { type Commit, groupCommit } from "./commit.ts";
import { deliveryStore } from "./deliveries.ts";
import { sqliteDialect } from "./dialect.ts";
import { type DirectoryLock, databaseIn } from "./directory.ts";
import { explainedFault } from "./faults.ts";
import { livestreamStatements } from "./livestreams.ts";
import { type OpenEvents, openDatabase, openForReading, openIfReady } from "./open.ts";
import { deliveryModes, eventStore } from "./publish.ts";
import { sqliteReplays } from "./replays.ts";
import { retentionStore } from "./retention.ts";
import { databaseBytes, dataSize, sizesByKind } from "./sizes.ts";
import { Snapshots } from "./snapshots.ts";
import { type StagedEvents, settled, stagedEvents } from "./staged.ts";
import { requireSameFiles } from "./storage-check.ts";
import { subscriptionStatements } from "./subscriptions.ts";
import { userStore } from "./users.ts";

export interface OpenOptions extends OpenEvents {
  /** The lock of the directory, if the caller already has it. */
  readonly lock?: DirectoryLock | undefined;
  readonly onFault?: OnFault | undefined;
}

/** Opens the store of a data directory for this process alone. Throws a `StoreError` when it cannot be used. */
export function openStore(directory: string, { lock, onFault, ...events }: OpenOptions = {}): Store {
  const { db, claim, requireWriter, close } = openDatabase(directory, lock, events);
  let undone = () => {};
  const commit = groupCommit(db, {
    claim,
    begun: requireWriter,
    undone: () => undone(),
    check: requireSameFiles(directory),
  });
  const staged = stagedEvents(db, commit);
  undone = staged.forget;
  const snapshots = new Snapshots(() => openForReading(directory));
  const closeAll = () => {
    snapshots.close();
    close();
  };
  // Closes after a last commit, so that all earlier writes are on disk. If it fails, the next start moves the staged
  // events.
  return Object.assign(storeOn(db, commit, staged, snapshots, directory, onFault), {
    close: once(() => commit(staged.move).then(closeAll, closeAll)),
  });
}

/** Calls `deliveries.settle` of the store that writes. */
type Settle = () => Promise<void>;

/**
 * Opens a read-only view of the store for another thread of its process. `settle` is awaited before deliveries are
 * read.
 */
export function openReader(directory: string, onFault?: OnFault, settle?: Settle): Store {
  return readerOn(directory, openForReading(directory), onFault, settle);
}

/** Does the same before the store is open. Returns null when the database cannot be read yet; see `openIfReady`. */
export function openReaderIfReady(directory: string, onFault?: OnFault, settle?: Settle): Store | null {
  const db = openIfReady(directory);
  return db && readerOn(directory, db, onFault, settle);
}

function readerOn(
  directory: string,
  db: Database,
  onFault?: OnFault,
  settle: Settle = async () => {},
): Store {
  const refuse: Commit = () => Promise.reject(new Error("this thread must not write"));
  const staged = { ...stagedEvents(db, refuse), settle };
  const snapshots = new Snapshots(() => openForReading(directory));
  const close = async () => {
    snapshots.close();
    db.close();
  };
  return Object.assign(storeOn(db, refuse, staged, snapshots, directory, onFault), { close });
}

function storeOn(
  db: Database,
  commit: Commit,
  staged: StagedEvents,
  snapshots: Snapshots,
  directory: string,
  onFault: OnFault = () => {},
): Omit<Store, "close"> {
  const orm = drizzle(db);
  const shared = sqliteDialect(orm, commit);
  const modes = deliveryModes(orm);
  const size = once(() => dataSize(db));
  // For nouns that read or change deliveries: moves staged events first.
  const behind = staged.before(commit);
  const sharedBehind = sqliteDialect(orm, behind);
  const sizes = { databaseBytes: async () => databaseBytes(db), kindSizes: async () => sizesByKind(db) };
  const makers = {
    ...sharedNouns(shared, sharedBehind),
    applications: () => applicationStore(sqliteDialect(orm, modes.forgottenBy(behind))),
    users: () => userStore(db, orm, behind, sharedBehind),
    livestreams: () => livestreamStore(shared, livestreamStatements(db, orm)),
    subscriptions: () => {
      const store = subscriptionStore(sharedBehind, subscriptionStatements(orm, snapshots));
      return { ...store, find: settled(staged, store.find) };
    },
    events: () => eventStore(db, orm, commit, modes, staged, size()),
    deliveries: () => deliveryStore(db, orm, behind, { shared, staged, snapshots }),
    replays: () => sqliteReplays(db, orm, sharedBehind),
    statistics: () => statisticStore(shared, sizes),
    retention: () => retentionStore(orm, behind, size()),
    orders: () => noOrders,
  };
  const file = databaseIn(directory);
  return nounsOf(makers, (error) => explainedFault(error, file, onFault));
}
