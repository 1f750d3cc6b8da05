import { lazily, replacing } from "../../domain/lazily.ts";
import type { OnFault } from "../faults.ts";
import type { ReplicaNewsLink } from "../replicas/news.ts";
import type { Ownership } from "../replicas/ownership.ts";
import type { Store } from "../store.ts";
import { applicationStore } from "./applications.ts";
import { categoryStore } from "./categories.ts";
import { channelStore } from "./channels.ts";
import { consentStore } from "./consents.ts";
import type { ConnectionSettings } from "./database/connection-url.ts";
import type { PoolOptions } from "./database/driver.ts";
import { withFaults } from "./database/faults.ts";
import { appliedSteps } from "./database/migrations.ts";
import { Notifications } from "./database/notifications.ts";
import { openPostgres } from "./database/open.ts";
import { openPool, type Postgres } from "./database/pool.ts";
import { HandedOut } from "./deliveries/handed-out.ts";
import { OwnedShards } from "./deliveries/owned-shards.ts";
import { eventPublisher } from "./deliveries/publishing.ts";
import { deliveryStore } from "./deliveries.ts";
import { endpointStore } from "./endpoints.ts";
import { eventTypeStore } from "./event-types.ts";
import { idempotencyStore } from "./idempotency.ts";
import { livestreamStore } from "./livestreams.ts";
import { loginRequestStore } from "./login-requests.ts";
import { auditStore } from "./operations/audit.ts";
import { noticeStore } from "./operations/notices.ts";
import { statisticStore } from "./operations/statistics.ts";
import { operatorKeyStore } from "./operator-keys.ts";
import { orderStore } from "./orders.ts";
import { replayStore } from "./replays.ts";
import { ReplicaNewsExchange } from "./replicas/news.ts";
import { Replica } from "./replicas/replica.ts";
import { retentionStore } from "./retention.ts";
import { settingStore } from "./settings.ts";
import { subscriptionStore } from "./subscriptions.ts";
import { tokenStore } from "./tokens.ts";
import { userStore } from "./users.ts";

/** Opens the store of a database, in its newest form. Throws `StoreError` when it cannot be used. */
export async function openPostgresStore(
  settings: ConnectionSettings,
  options: PoolOptions,
  onFault?: OnFault,
): Promise<Store> {
  return storeOn(await openPostgres(settings, options), onFault);
}

/**
 * The same as one of the replicas that serve the database; `direct` leads there without a pooler. `mayServe` rejects
 * where it must not join the others; it is asked when they can see it.
 */
export async function openPostgresReplica(
  settings: ConnectionSettings,
  direct: ConnectionSettings,
  options: PoolOptions,
  mayServe: (store: Store) => Promise<void>,
  onFault?: OnFault,
): Promise<{ readonly store: Store; readonly ownership: Ownership; readonly replicas: ReplicaNewsLink }> {
  const db = await openPostgres(settings, options);
  const owned = new OwnedShards();
  const notifications = new Notifications(direct, db);
  const store = storeOn(db, onFault, owned);
  const replicas = new ReplicaNewsExchange(db, owned.replica, notifications);
  const close = async () => {
    replicas.close();
    await notifications.close();
    await db.close();
  };
  return {
    store: replacing(store, { close: () => close }),
    ownership: new Replica(db, owned, notifications, async () => {
      // A newer version may have changed the database since it was opened.
      await appliedSteps(db);
      await mayServe(store);
    }),
    replicas,
  };
}

/** The same a second time, to read from in another thread; it refuses writes. For a database in its newest form. */
export function openPostgresReader(
  settings: ConnectionSettings,
  options: PoolOptions,
  onFault?: OnFault,
): Store {
  return storeOn(openPool(settings, { ...options, isReader: true }), onFault);
}

type Nouns = Omit<Store, "close">;

/** Each noun prepares its statements when it is first used. */
function storeOn(db: Postgres, onFault: OnFault = () => {}, owned = new OwnedShards()): Store {
  const handedOut = new HandedOut();
  const makers: { readonly [Noun in keyof Nouns]: () => Nouns[Noun] } = {
    users: () => userStore(db),
    categories: () => categoryStore(db),
    channels: () => channelStore(db),
    livestreams: () => livestreamStore(db),
    applications: () => applicationStore(db),
    tokens: () => tokenStore(db),
    loginRequests: () => loginRequestStore(db),
    consents: () => consentStore(db),
    subscriptions: () => subscriptionStore(db),
    events: () => eventPublisher(db, handedOut, owned),
    eventTypes: () => eventTypeStore(db),
    deliveries: () => deliveryStore(db, handedOut, owned),
    replays: () => replayStore(db),
    endpoints: () => endpointStore(db),
    notices: () => noticeStore(db),
    audit: () => auditStore(db),
    statistics: () => statisticStore(db),
    retention: () => retentionStore(db),
    idempotency: () => idempotencyStore(db),
    operatorKeys: () => operatorKeyStore(db),
    settings: () => settingStore(db),
    orders: () => orderStore(db),
  };
  const nouns = Object.entries(makers).map(([name, make]) => [name, () => withFaults(make(), onFault)]);
  return Object.assign(lazily<Nouns>(Object.fromEntries(nouns)), { close: () => db.close() });
}
