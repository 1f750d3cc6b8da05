import { lazily } from "../../domain/lazily.ts";
import type { StorageFault } from "../faults.ts";
import type { Store } from "../store.ts";
import { applicationStore } from "./applications.ts";
import { categoryStore } from "./categories.ts";
import { channelStore } from "./channels.ts";
import { consentStore } from "./consents.ts";
import type { ConnectionSettings } from "./database/connection-url.ts";
import { withFaults } from "./database/faults.ts";
import { openPostgres } from "./database/open.ts";
import type { PoolOptions, Postgres } from "./database/pool.ts";
import { eventTypeStore } from "./event-types.ts";
import { idempotencyStore } from "./idempotency.ts";
import { livestreamStore } from "./livestreams.ts";
import { loginRequestStore } from "./login-requests.ts";
import { operatorKeyStore } from "./operator-keys.ts";
import { settingStore } from "./settings.ts";
import { subscriptionStore } from "./subscriptions.ts";
import { tokenStore } from "./tokens.ts";
import { userStore } from "./users.ts";

/** Called for each read or write that finds that the storage cannot be used. */
type NoteFault = (fault: StorageFault) => void;

/** Opens the store of a database, in its newest form. Throws `StoreError` when it cannot be used. */
export async function openPostgresStore(
  settings: ConnectionSettings,
  options: PoolOptions,
  onFault?: NoteFault,
): Promise<Store> {
  return storeOn(await openPostgres(settings, options), onFault);
}

type Nouns = Omit<Store, "close">;

/** Each noun prepares its statements when it is first used. */
function storeOn(db: Postgres, onFault: NoteFault = () => {}): Store {
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
    events: () => missing(),
    eventTypes: () => eventTypeStore(db),
    deliveries: () => missing(),
    replays: () => missing(),
    endpoints: () => missing(),
    retention: () => missing(),
    idempotency: () => idempotencyStore(db),
    operatorKeys: () => operatorKeyStore(db),
    settings: () => settingStore(db),
  };
  const nouns = Object.entries(makers).map(([name, make]) => [name, () => withFaults(make(), onFault)]);
  return Object.assign(lazily<Nouns>(Object.fromEntries(nouns)), { close: () => db.close() });
}

/** A noun that is still to be written. */
function missing(): never {
  throw new Error("Not there yet");
}
