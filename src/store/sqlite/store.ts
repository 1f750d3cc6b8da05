import { drizzle } from "drizzle-orm/bun-sqlite";
import type { Store } from "../store.ts";
import { applicationStore, settingStore } from "./applications.ts";
import { categoryStore } from "./categories.ts";
import { groupCommit } from "./commit.ts";
import { consentStore } from "./consents.ts";
import { deliveryStore } from "./deliveries.ts";
import { eventStore } from "./events.ts";
import { idempotencyStore } from "./idempotency.ts";
import { channelStore, livestreamStore } from "./livestreams.ts";
import { loginRequestStore } from "./login-requests.ts";
import { openDatabase } from "./open.ts";
import { subscriptionStore } from "./subscriptions.ts";
import { tokenStore } from "./tokens.ts";
import { userStore } from "./users.ts";

/** Opens the store of a data directory for this process alone. Throws `StoreError` when it cannot be used. */
export function openStore(directory: string): Store {
  const { db, close } = openDatabase(directory);
  const orm = drizzle(db);
  const commit = groupCommit(db);
  return {
    users: userStore(db, orm, commit),
    categories: categoryStore(orm, commit),
    channels: channelStore(orm, commit),
    livestreams: livestreamStore(orm, commit),
    applications: applicationStore(orm, commit),
    tokens: tokenStore(orm, commit),
    loginRequests: loginRequestStore(orm, commit),
    consents: consentStore(orm, commit),
    subscriptions: subscriptionStore(orm, commit),
    events: eventStore(db, orm, commit),
    deliveries: deliveryStore(db, commit),
    idempotency: idempotencyStore(orm, commit),
    settings: settingStore(orm, commit),
    // Behind a last commit, so that whatever was asked for before is on disk.
    close: () => commit(() => {}).then(close),
  };
}
