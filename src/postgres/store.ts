import { newReplica } from "../domain/ids.ts";
import type { Ownership, ReplicaLink } from "../domain/replicas.ts";
import type { OnFault, Store } from "../domain/store.ts";
import { livestreamStore } from "../store/drizzle/livestreams.ts";
import { sharedNouns } from "../store/drizzle/nouns.ts";
import { statisticStore } from "../store/drizzle/statistics.ts";
import { subscriptionStore } from "../store/drizzle/subscriptions.ts";
import { nounsOf } from "../store/effects.ts";
import type { ConnectionSettings } from "../store/location.ts";
import { deliveryStore } from "./deliveries.ts";
import { postgresDialect } from "./dialect.ts";
import type { PoolOptions } from "./driver.ts";
import { ReplicaExchange } from "./exchange.ts";
import { databaseBytes, sizesByKind } from "./facts.ts";
import { explainedFault } from "./faults.ts";
import { appliedSteps } from "./migrations.ts";
import { Notifications } from "./notifications.ts";
import { orderStore, postgresReplays, putLivestreams, subscriptionStatements } from "./nouns.ts";
import { openPostgres } from "./open.ts";
import { openPool, type Postgres } from "./pool.ts";
import { eventPublisher } from "./publish.ts";
import { ClaimedDeliveries } from "./queue.ts";
import { Replica } from "./replica.ts";
import { retentionStore } from "./retention.ts";
import { livestreams } from "./schema.ts";
import { OwnedShards } from "./shards.ts";
import { userStore } from "./users.ts";

/**
 * Opens the store of a database, and migrates it to the current schema. Throws a `StoreError` when it cannot be used.
 */
export async function openPostgresStore(
  settings: ConnectionSettings,
  options: PoolOptions,
  onFault?: OnFault,
): Promise<Store> {
  return storeOn(await openPostgres(settings, options), onFault);
}

interface ReplicaOptions extends PoolOptions {
  readonly onFault?: OnFault | undefined;
  /** Called with the name of each migration before it begins. */
  readonly applying?: ((name: string) => void) | undefined;
  /** The number of this process; null for a new one. */
  readonly replica?: number | null | undefined;
}

/**
 * Opens the store as one of the replicas that serve the database. `direct` leads there without a pooler. `mayServe` is
 * called after the first heartbeat, and rejects when this process must not join the others.
 */
export async function openPostgresReplica(
  settings: ConnectionSettings,
  direct: ConnectionSettings,
  { onFault, applying, replica, ...options }: ReplicaOptions,
  mayServe: (store: Store) => Promise<void>,
): Promise<{ readonly store: Store; readonly ownership: Ownership; readonly replicas: ReplicaLink }> {
  const db = await openPostgres(settings, options, applying);
  const owned = new OwnedShards(replica ?? newReplica());
  const notifications = new Notifications(direct, db);
  const store = storeOn(db, onFault, owned);
  const replicas = new ReplicaExchange(db, owned.replica, notifications);
  const ownership = new Replica(db, owned, notifications, async () => {
    // A newer version may have changed the database since it was opened.
    await appliedSteps(db);
    await mayServe(store);
  });
  const close = async () => {
    replicas.close();
    ownership.close();
    await notifications.close();
    await db.close();
  };
  return { store: Object.assign(store, { close }), ownership, replicas };
}

/** Opens a read-only view of the store for another thread. The database must have the current schema. */
export function openPostgresReader(
  settings: ConnectionSettings,
  options: PoolOptions,
  onFault?: OnFault,
): Store {
  return storeOn(openPool(settings, { ...options, isReader: true }), onFault);
}

function storeOn(db: Postgres, onFault: OnFault = () => {}, owned = new OwnedShards()): Store {
  const claimed = new ClaimedDeliveries();
  const shared = postgresDialect(db);
  const sizes = {
    databaseBytes: () => databaseBytes(db),
    kindSizes: () => sizesByKind(db),
    connectionUse: async () => db.use,
  };
  const makers = {
    ...sharedNouns(shared),
    users: () => userStore(db, shared),
    livestreams: () =>
      livestreamStore(shared, {
        put: putLivestreams,
        all: async () => db.orm.select().from(livestreams),
      }),
    subscriptions: () => subscriptionStore(shared, subscriptionStatements(db)),
    events: () => eventPublisher(db, claimed, owned),
    deliveries: () => deliveryStore(db, claimed, owned),
    replays: () => postgresReplays(shared),
    statistics: () => statisticStore(shared, sizes),
    retention: () => retentionStore(db),
    orders: () => orderStore(db),
  };
  const nouns = nounsOf(makers, (error) => explainedFault(error, onFault));
  return Object.assign(nouns, { close: () => db.close() });
}
