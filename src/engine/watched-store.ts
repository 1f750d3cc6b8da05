import { replacing } from "../domain/lazily.ts";
import type { Store } from "../store/store.ts";
import type { Dispatcher } from "../webhooks/dispatcher.ts";

/** The store, which reports to the dispatcher what concerns deliveries, before the change is acknowledged. */
export function watchedStore(
  store: Store,
  dispatcher: Pick<Dispatcher, "applicationChanged" | "subscriptionsRemoved" | "hurry">,
): Store {
  return replacing(store, {
    applications: () => ({
      ...store.applications,
      async update(id, changes, now) {
        const changed = await store.applications.update(id, changes, now);
        dispatcher.applicationChanged(id, changed);
        return changed;
      },
      async rotateWebhookSecret(id, secret, rotation) {
        const changed = await store.applications.rotateWebhookSecret(id, secret, rotation);
        dispatcher.applicationChanged(id, changed);
        return changed;
      },
      async remove(id, now) {
        const removed = await store.applications.remove(id, now);
        dispatcher.applicationChanged(id, null);
        return removed;
      },
    }),
    users: () => ({
      ...store.users,
      async remove(id, now) {
        const removed = await store.users.remove(id, now);
        removed.subscriptions.forEach(dispatcher.subscriptionsRemoved);
        return removed;
      },
    }),
    consents: () => ({
      ...store.consents,
      async revoke(userId, applicationId, now) {
        const ids = await store.consents.revoke(userId, applicationId, now);
        dispatcher.subscriptionsRemoved({ application_id: applicationId, ids });
        return ids;
      },
    }),
    deliveries: () => ({
      ...store.deliveries,
      async retry(scope, id, now) {
        const retried = await store.deliveries.retry(scope, id, now);
        dispatcher.hurry(retried.application_id);
        return retried;
      },
    }),
    subscriptions: () => ({
      ...store.subscriptions,
      async remove(applicationId, ids, now, userId) {
        const removed = await store.subscriptions.remove(applicationId, ids, now, userId);
        dispatcher.subscriptionsRemoved({ application_id: applicationId, ids: removed });
        return removed;
      },
    }),
  });
}
