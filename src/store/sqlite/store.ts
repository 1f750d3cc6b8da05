import { drizzle } from "drizzle-orm/bun-sqlite";
import type { Store } from "../store.ts";
import { applicationStore, settingStore, tokenStore } from "./applications.ts";
import { categoryStore } from "./categories.ts";
import { groupCommit } from "./commit.ts";
import { deliveryStore } from "./deliveries.ts";
import { eventStore } from "./events.ts";
import { channelStore, livestreamStore } from "./livestreams.ts";
import { openDatabase } from "./open.ts";
import { subscriptionStore } from "./subscriptions.ts";
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
    livestreams: livestreamStore(db, orm, commit),
    applications: applicationStore(orm, commit),
    tokens: tokenStore(orm, commit),
    subscriptions: subscriptionStore(orm, commit),
    events: eventStore(db, orm, commit),
    deliveries: deliveryStore(db, commit),
    settings: settingStore(orm, commit),
    // Behind a last commit, so that whatever was asked for before is on disk.
    close: () => commit(() => {}).then(close),
  };
}
