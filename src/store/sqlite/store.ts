import type { Database } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { lazily, once } from "../../domain/lazily.ts";
import type { OnFault } from "../faults.ts";
import type { Store } from "../store.ts";
import { applicationStore } from "./applications.ts";
import { categoryStore } from "./categories.ts";
import { channelStore } from "./channels.ts";
import { consentStore } from "./consents.ts";
import { type Commit, groupCommit } from "./database/commit.ts";
import { dataSize } from "./database/data-size.ts";
import { databaseIn } from "./database/directory.ts";
import { withFaults } from "./database/faults.ts";
import type { DirectoryLock } from "./database/lock.ts";
import { openDatabase, openForReading, openIfReady } from "./database/open.ts";
import { Snapshots } from "./database/snapshots.ts";
import { deliveryModes } from "./deliveries/modes.ts";
import { type StagedEvents, stagedEvents } from "./deliveries/staged.ts";
import { deliveryStore } from "./deliveries.ts";
import { endpointKeeper, endpointStore } from "./endpoints.ts";
import { eventTypeStore } from "./event-types.ts";
import { eventStore } from "./events.ts";
import { idempotencyStore } from "./idempotency.ts";
import { livestreamStore } from "./livestreams.ts";
import { loginRequestStore } from "./login-requests.ts";
import { auditStore } from "./operations/audit.ts";
import { noticeAdder, noticeStore } from "./operations/notices.ts";
import { statisticStore } from "./operations/statistics.ts";
import { operatorKeyStore } from "./operator-keys.ts";
import { noOrders } from "./orders.ts";
import { replayStore } from "./replays.ts";
import { retentionStore } from "./retention.ts";
import { settingStore } from "./settings.ts";
import { subscriptionStore } from "./subscriptions.ts";
import { tokenStore } from "./tokens.ts";
import { userStore } from "./users.ts";

/**
 * Opens the store of a data directory for this process alone. Throws `StoreError` when it cannot be used.
 * @param lock of the directory, where it is locked already
 */
export function openStore(directory: string, lock?: DirectoryLock, onFault?: OnFault): Store {
  const { db, close } = openDatabase(directory, lock);
  let undone = () => {};
  const commit = groupCommit(db, () => undone());
  const staged = stagedEvents(db, commit);
  undone = staged.forget;
  const snapshots = new Snapshots(() => openForReading(directory));
  const closeAll = () => {
    snapshots.close();
    close();
  };
  // Closes behind a last commit, so that whatever was asked for before is on disk.
  return Object.assign(storeOn(db, commit, staged, snapshots, directory, onFault), {
    close: () => commit(staged.move).then(closeAll),
  });
}

/** The same store a second time in the process that has it open, to read from in another thread; it refuses writes. */
export function openReader(directory: string, onFault?: OnFault): Store {
  return readerOn(directory, openForReading(directory), onFault);
}

/** The same before the store is open; null where it cannot be read until then. */
export function openReaderIfReady(directory: string, onFault?: OnFault): Store | null {
  const db = openIfReady(directory);
  return db && readerOn(directory, db, onFault);
}

function readerOn(directory: string, db: Database, onFault?: OnFault): Store {
  const refuse: Commit = () => Promise.reject(new Error("this thread must not write"));
  // What is staged is moved by who writes, before it is read here.
  const staged = { ...stagedEvents(db, refuse), settle: async () => {} };
  const snapshots = new Snapshots(() => openForReading(directory));
  const close = async () => {
    snapshots.close();
    db.close();
  };
  return Object.assign(storeOn(db, refuse, staged, snapshots, directory, onFault), { close });
}

type Nouns = Omit<Store, "close">;

/** Each noun prepares its statements when it is first used: at a start most are not needed for a while. */
function storeOn(
  db: Database,
  commit: Commit,
  staged: StagedEvents,
  snapshots: Snapshots,
  directory: string,
  onFault: OnFault = () => {},
): Nouns {
  const orm = drizzle(db);
  const keepEndpoint = endpointKeeper(orm);
  const modes = deliveryModes(orm);
  const size = once(() => dataSize(db));
  // For what reads or changes deliveries.
  const behind = staged.before(commit);
  const makers: { readonly [Noun in keyof Nouns]: () => Nouns[Noun] } = {
    users: () => userStore(db, orm, behind),
    categories: () => categoryStore(orm, commit),
    channels: () => channelStore(orm, commit),
    livestreams: () => livestreamStore(db, orm, commit),
    applications: () => applicationStore(orm, behind, modes),
    tokens: () => tokenStore(orm, commit),
    loginRequests: () => loginRequestStore(orm, commit),
    consents: () => consentStore(orm, behind),
    subscriptions: () => subscriptionStore(orm, behind, staged, snapshots),
    events: () => eventStore(db, orm, commit, modes, staged, size()),
    eventTypes: () => eventTypeStore(orm, commit),
    deliveries: () =>
      deliveryStore(db, orm, behind, { staged, keepEndpoint, addNotice: noticeAdder(orm), snapshots }),
    replays: () => replayStore(db, orm, behind),
    endpoints: () => endpointStore(orm, behind),
    notices: () => noticeStore(orm, commit),
    audit: () => auditStore(orm, commit),
    statistics: () => statisticStore(db, orm, commit),
    retention: () => retentionStore(orm, behind, size()),
    idempotency: () => idempotencyStore(orm, commit),
    operatorKeys: () => operatorKeyStore(orm, commit),
    settings: () => settingStore(orm, commit),
    orders: () => noOrders,
  };
  const file = databaseIn(directory);
  const nouns = Object.entries(makers).map(([name, make]) => [name, () => withFaults(make(), file, onFault)]);
  return lazily<Nouns>(Object.fromEntries(nouns));
}
