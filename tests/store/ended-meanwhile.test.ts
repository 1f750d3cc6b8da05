import { beforeEach, describe, expect, test } from "bun:test";
import type { AttemptResult, DueDelivery } from "../../src/domain/deliveries.ts";
import type { Store } from "../../src/domain/store.ts";
import {
  attemptResult,
  loggedDeliveries,
  newEvent,
  ownStore,
  storedAt,
  subscriber,
} from "../support/store.ts";

/*
 * A subscription or an application is removed while an attempt of it is under way. Its pending deliveries are canceled.
 * A delivery that the receiver accepts nevertheless is logged as delivered.
 */

const now = storedAt;

describe("an attempt is under way while", () => {
  let store: Store;
  let application: string;
  let other: string;
  let subscription: string;
  beforeEach(async () => {
    ({ store } = await ownStore());
    application = await subscriber(store);
    other = await subscriber(store);
    subscription = (await store.subscriptions.ofApplication(application))[0]?.id ?? "";
  });

  const publish = (id: string, takes = false) =>
    store.events.publish(newEvent(id), (applicationId) => takes && applicationId === application);
  const logged = async (application_id = application) =>
    (await loggedDeliveries(store, { application_id })).map(({ status, attempts, finished_at }) => [
      status,
      attempts.length,
      finished_at,
    ]);
  const changes: Readonly<Record<string, () => Promise<unknown>>> = {
    "its subscription is removed": () => store.subscriptions.remove(application, [subscription], now + 1),
    "its application is removed": () => store.applications.remove(application, now + 1),
    "its application is disabled": () => store.applications.update(application, { disabled: true }, now + 1),
    "its broadcaster is removed": () => store.users.remove(1, now + 1),
  };

  describe.each(Object.keys(changes))("%s", (name) => {
    const change = () => changes[name]?.();

    test("a delivery that succeeds is delivered, not canceled, whether it was claimed or published into memory", async () => {
      await publish("claimed");
      const { due } = await store.deliveries.claim(application, now, 1);
      const { taken } = await publish("taken", true);
      await publish("waiting");
      expect([due.length, taken.length]).toEqual([1, 1]);
      await change();
      await store.deliveries.record([ended(due[0], "delivered"), ended(taken[0], "delivered")], []);
      expect(await logged()).toEqual([
        ["delivered", 1, now + 2],
        ["delivered", 1, now + 2],
        ["canceled", 0, expect.any(Number)],
      ]);
      expect((await logged(other)).map(([, attempts]) => attempts)).toEqual([0, 0, 0]);
    });

    test("a delivery that fails, ended without an attempt, or was recorded for an earlier claim, stays canceled", async () => {
      for (const id of ["a", "b", "c", "d"]) await publish(id);
      const { due } = await store.deliveries.claim(application, now, 8);
      await store.deliveries.record([ended(due[3], "pending")], []);
      await change();
      const unsent = { ...ended(due[2], "delivered"), attempts: 0, attempt: null };
      const late = ended(due[3], "delivered");
      await store.deliveries.record([ended(due[0], "pending"), ended(due[1], "failed"), unsent, late], []);
      expect((await logged()).map(([status, attempts]) => [status, attempts])).toEqual([
        ["canceled", 1],
        ["canceled", 1],
        ["canceled", 0],
        ["canceled", 1],
      ]);
      expect((await store.deliveries.pending()).map(({ application_id }) => application_id)).not.toContain(
        application,
      );
    });
  });
});

function ended(due: DueDelivery | undefined, status: "delivered" | "pending" | "failed"): AttemptResult {
  const next_attempt_at = status === "pending" ? now + 5_000 : null;
  return attemptResult(due, { at: now + 2, attempts: (due?.attempts ?? 0) + 1, status, next_attempt_at });
}
