import { newWebhookSecret } from "../../../src/delivery/signature.ts";
import type { ApplicationChanges } from "../../../src/domain/applications.ts";
import { everything } from "../../../src/domain/deliveries.ts";
import { newId } from "../../../src/domain/ids.ts";
import type { KnownApplication, KnownSubscription, Platform } from "./platform.ts";

/** What operators and developers ask for while the engine runs. Each resolves when it is acknowledged. */

export function update(on: Platform, application: KnownApplication, changes: ApplicationChanges) {
  if (changes.disabled) application.wasDisabled = true;
  if (changes.delivery === "stream") application.wasStream = true;
  return on.changing(application, (store) =>
    store.applications.update(application.id, changes, on.time.now()),
  );
}

export const changeUrl = (on: Platform, application: KnownApplication) =>
  update(on, application, { webhook_url: on.newUrl() });

export function rotate(on: Platform, application: KnownApplication) {
  const rotation = { now: on.time.now(), overlapMs: 0 };
  return on.changing(application, (store) =>
    store.applications.rotateWebhookSecret(application.id, newWebhookSecret(), rotation),
  );
}

export const enable = (on: Platform, application: KnownApplication) =>
  on.changing(application, () => on.process.dispatcher.enable(application.id));

export function removeApplication(on: Platform, application: KnownApplication) {
  application.wasDisabled = true;
  return unsubscribing(
    on,
    (one) => one.application === application,
    () => on.changing(application, (store) => store.applications.remove(application.id, on.time.now())),
  );
}

/** Removes a broadcaster, who comes back with the next subscription. */
export const removeUser = (on: Platform, broadcaster: number) =>
  unsubscribing(
    on,
    (one) => one.broadcaster === broadcaster,
    () => on.process.store.users.remove(broadcaster, on.time.now()),
  );

/** Removes the subscription to a broadcaster, or makes it where there is none. */
export async function switchSubscription(on: Platform, application: KnownApplication, broadcaster: number) {
  const its = [...on.promises.subscriptions.values()].filter(
    (one) => one.application === application && one.broadcaster === broadcaster,
  );
  const there = its.find(({ removal }) => removal === "none");
  if (there) {
    const remove = () => on.process.store.subscriptions.remove(application.id, [there.id], on.time.now());
    await unsubscribing(on, (one) => one === there, remove);
  } else if (!its.some(({ removal }) => removal === "asked")) await on.subscribe(application, broadcaster);
}

async function unsubscribing(
  on: Platform,
  isIts: (one: KnownSubscription) => boolean,
  work: () => Promise<unknown>,
): Promise<void> {
  const left = () =>
    [...on.promises.subscriptions.values()].filter((one) => isIts(one) && one.removal !== "acknowledged");
  const asked = left();
  for (const one of asked) one.removal = "asked";
  await work();
  for (const one of asked) one.removal = "acknowledged";
  // Those that were made meanwhile, before the removal or behind it.
  for (const one of left()) await on.lookForSubscription(one);
}

/** A person asks for a delivery again. */
export async function retry(on: Platform, which: number): Promise<void> {
  const all = [...on.promises.deliveries.values()];
  const delivery = all[which % Math.max(1, all.length)];
  if (!delivery) return;
  delivery.retries++;
  const { application } = delivery.subscription;
  await on.changing(application, (store) => store.deliveries.retry(everything, delivery.id, on.time.now()));
  on.promises.excuse(application);
}

/** A person asks for everything of an application again. */
export async function replay(on: Platform, application: KnownApplication): Promise<void> {
  application.replays++;
  const { store, dispatcher } = on.process;
  const all = { subscription_id: null, of_broadcaster: null, status: null, type: null };
  const range = { ...all, broadcaster_user_id: null };
  const [now, id] = [on.time.now(), newId()];
  const times = { from: 0, to: now + 1, created_at: now };
  await on.changing(application, async () => {
    await store.replays.create({ id, application_id: application.id, dry_run: false, ...range, ...times });
    await store.replays.advance(id, on.time.now());
    await store.replays.cancel(everything, id, on.time.now());
    dispatcher.wake(application.id);
  });
  on.promises.excuse(application);
}
