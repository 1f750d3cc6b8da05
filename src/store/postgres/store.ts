import { replacing } from "../../runtime/lazily.ts";
import { livestreamStore } from "../drizzle/livestreams.ts";
import { nounsOf, sharedNouns } from "../drizzle/nouns.ts";
import { statisticStore } from "../drizzle/statistics.ts";
import { subscriptionStore } from "../drizzle/subscriptions.ts";
import type { OnFault } from "../faults.ts";
import type { ReplicaLink } from "../replicas/notifications.ts";
import type { Ownership } from "../replicas/ownership.ts";
import type { Store } from "../store.ts";
import type { ConnectionSettings } from "./database/connection-url.ts";
import { postgresDialect } from "./database/dialect.ts";
import type { PoolOptions } from "./database/driver.ts";
import { explainedFault } from "./database/faults.ts";
import { appliedSteps } from "./database/migrations.ts";
import { Notifications } from "./database/notifications.ts";
import { openPostgres } from "./database/open.ts";
import { openPool, type Postgres } from "./database/pool.ts";
import { databaseBytes, sizesByKind } from "./database/sizes.ts";
import { ClaimedDeliveries } from "./deliveries/claimed-deliveries.ts";
import { OwnedShards } from "./deliveries/owned-shards.ts";
import { eventPublisher } from "./deliveries/publishing.ts";
import { deliveryStore } from "./deliveries.ts";
import { putLivestreams } from "./livestreams.ts";
import { orderStore } from "./orders.ts";
import { postgresReplays } from "./replays.ts";
import { Replica } from "./replicas/replica.ts";
import { ReplicaExchange } from "./replicas/replica-exchange.ts";
import { retentionStore } from "./retention.ts";
import { livestreams } from "./schema/platform.ts";
import { subscriptionStatements } from "./subscriptions.ts";
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
}

/**
 * Opens the store as one of the replicas that serve the database. `direct` leads there without a pooler. `mayServe` is
 * called after the first heartbeat, and rejects when this process must not join the others.
 */
export async function openPostgresReplica(
  settings: ConnectionSettings,
  direct: ConnectionSettings,
  { onFault, applying, ...options }: ReplicaOptions,
  mayServe: (store: Store) => Promise<void>,
): Promise<{ readonly store: Store; readonly ownership: Ownership; readonly replicas: ReplicaLink }> {
  const db = await openPostgres(settings, options, applying);
  const owned = new OwnedShards();
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
  return { store: replacing(store, { close: () => close }), ownership, replicas };
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
  const sizes = { databaseBytes: () => databaseBytes(db), kindSizes: () => sizesByKind(db) };
  const makers = {
    ...sharedNouns(shared, shared),
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
