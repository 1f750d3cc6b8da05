import { lazily, replacing } from "../../lazily.ts";
import { applicationStore } from "../drizzle/applications.ts";
import { auditStore } from "../drizzle/audit.ts";
import { categoryStore } from "../drizzle/categories.ts";
import { channelStore } from "../drizzle/channels.ts";
import { consentStore } from "../drizzle/consents.ts";
import { endpointStore } from "../drizzle/endpoints.ts";
import { eventTypeStore } from "../drizzle/event-types.ts";
import { idempotencyStore } from "../drizzle/idempotency.ts";
import { livestreamStore } from "../drizzle/livestreams.ts";
import { loginRequestStore } from "../drizzle/login-requests.ts";
import { noticeStore } from "../drizzle/notices.ts";
import { operatorKeyStore } from "../drizzle/operator-keys.ts";
import { settingStore } from "../drizzle/settings.ts";
import { statisticStore } from "../drizzle/statistics.ts";
import { subscriptionStore } from "../drizzle/subscriptions.ts";
import { tokenStore } from "../drizzle/tokens.ts";
import type { OnFault } from "../faults.ts";
import type { ReplicaNewsLink } from "../replicas/news.ts";
import type { Ownership } from "../replicas/ownership.ts";
import type { Store } from "../store.ts";
import type { ConnectionSettings } from "./database/connection-url.ts";
import { postgresDialect } from "./database/dialect.ts";
import type { PoolOptions } from "./database/driver.ts";
import { withFaults } from "./database/faults.ts";
import { appliedSteps } from "./database/migrations.ts";
import { Notifications } from "./database/notifications.ts";
import { openPostgres } from "./database/open.ts";
import { openPool, type Postgres } from "./database/pool.ts";
import { databaseBytes, sizesByKind } from "./database/sizes.ts";
import { HandedOut } from "./deliveries/handed-out.ts";
import { OwnedShards } from "./deliveries/owned-shards.ts";
import { eventPublisher } from "./deliveries/publishing.ts";
import { deliveryStore } from "./deliveries.ts";
import { putLivestreams } from "./livestreams.ts";
import { orderStore } from "./orders.ts";
import { postgresReplays } from "./replays.ts";
import { ReplicaNewsExchange } from "./replicas/news.ts";
import { Replica } from "./replicas/replica.ts";
import { retentionStore } from "./retention.ts";
import { livestreams } from "./schema/platform.ts";
import { subscriptionStatements } from "./subscriptions.ts";
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
  const shared = postgresDialect(db);
  const sizes = { databaseBytes: () => databaseBytes(db), kindSizes: () => sizesByKind(db) };
  const makers: { readonly [Noun in keyof Nouns]: () => Nouns[Noun] } = {
    users: () => userStore(db, shared),
    categories: () => categoryStore(shared),
    channels: () => channelStore(shared),
    livestreams: () =>
      livestreamStore(shared, {
        put: putLivestreams,
        all: async () => db.orm.select().from(livestreams),
      }),
    applications: () => applicationStore(shared),
    tokens: () => tokenStore(shared),
    loginRequests: () => loginRequestStore(shared),
    consents: () => consentStore(shared),
    subscriptions: () => subscriptionStore(shared, subscriptionStatements(db)),
    events: () => eventPublisher(db, handedOut, owned),
    eventTypes: () => eventTypeStore(shared),
    deliveries: () => deliveryStore(db, handedOut, owned),
    replays: () => postgresReplays(shared),
    endpoints: () => endpointStore(shared),
    notices: () => noticeStore(shared),
    audit: () => auditStore(shared),
    statistics: () => statisticStore(shared, sizes),
    retention: () => retentionStore(db),
    idempotency: () => idempotencyStore(shared),
    operatorKeys: () => operatorKeyStore(shared),
    settings: () => settingStore(shared),
    orders: () => orderStore(db),
  };
  const nouns = Object.entries(makers).map(([name, make]) => [name, () => withFaults(make(), onFault)]);
  return Object.assign(lazily<Nouns>(Object.fromEntries(nouns)), { close: () => db.close() });
}
