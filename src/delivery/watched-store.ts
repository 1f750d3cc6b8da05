import type { Application } from "../domain/applications.ts";
import type { Store } from "../domain/store.ts";
import { replacing } from "../runtime/lazily.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { ReplayService } from "./replays.ts";
import type { Reports } from "./reports.ts";

/**
 * Returns a store that reports changes to the dispatcher, the replays and `note` after each commit, before the change
 * is acknowledged.
 */
export function watchedStore(
  store: Store,
  dispatcher: Pick<Dispatcher, "applicationChanged" | "subscriptionsRemoved" | "sendNow">,
  note: Reports["note"] = () => {},
  replays: Pick<ReplayService, "wake"> = { wake() {} },
): Store {
  const changed = (id: string, application: Application | null): void => {
    dispatcher.applicationChanged(id, application);
    note("applications", [id]);
  };
  const unsubscribed = (removed: Parameters<Dispatcher["subscriptionsRemoved"]>[0]): void => {
    dispatcher.subscriptionsRemoved(removed);
    note("subscriptions", [removed.application_id]);
  };
  return replacing(store, {
    applications: () => ({
      ...store.applications,
      async update(id, ...change) {
        const updated = await store.applications.update(id, ...change);
        changed(id, updated);
        return updated;
      },
      async rotateWebhookSecret(id, secret, rotation) {
        const updated = await store.applications.rotateWebhookSecret(id, secret, rotation);
        changed(id, updated);
        return updated;
      },
      async remove(id, now) {
        const removed = await store.applications.remove(id, now).catch(async (error: unknown) => {
          // An interrupted removal leaves the application disabled.
          changed(id, await store.applications.find(id));
          throw error;
        });
        changed(id, null);
        note("subscriptions", [id]);
        return removed;
      },
    }),
    users: () => ({
      ...store.users,
      async remove(id, now) {
        const removed = await store.users.remove(id, now);
        removed.subscriptions.forEach(unsubscribed);
        return removed;
      },
    }),
    consents: () => ({
      ...store.consents,
      async revoke(userId, applicationId, now) {
        const ids = await store.consents.revoke(userId, applicationId, now);
        unsubscribed({ application_id: applicationId, ids });
        return ids;
      },
    }),
    deliveries: () => ({
      ...store.deliveries,
      async retry(scope, id, now) {
        const retried = await store.deliveries.retry(scope, id, now);
        dispatcher.sendNow(retried.application_id);
        return retried;
      },
    }),
    replays: () => ({
      ...store.replays,
      async create(replay) {
        const created = await store.replays.create(replay);
        replays.wake();
        if (!created.dry_run) dispatcher.sendNow(created.application_id);
        return created;
      },
    }),
    subscriptions: () => ({
      ...store.subscriptions,
      async subscribe(request, now) {
        const subscribed = await store.subscriptions.subscribe(request, now);
        note("subscriptions", [request.applicationId]);
        return subscribed;
      },
      async remove(applicationId, ids, now, userId) {
        const removed = await store.subscriptions.remove(applicationId, ids, now, userId);
        unsubscribed({ application_id: applicationId, ids: removed });
        return removed;
      },
    }),
  });
}
