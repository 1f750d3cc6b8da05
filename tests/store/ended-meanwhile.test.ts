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

    test.each([true, false])(
      "a delivery that succeeds is delivered, not canceled; claimed from the store: %p",
      async (isClaimed) => {
        const taken = [...(await publish("a", !isClaimed)).taken];
        await publish("b");
        const due = isClaimed ? (await store.deliveries.claim(application, now, 1)).due : taken;
        expect(due).toHaveLength(1);
        await change();
        await store.deliveries.record([ended(due[0], "delivered")], []);
        expect(await logged()).toEqual([
          ["delivered", 1, now + 2],
          ["canceled", 0, expect.any(Number)],
        ]);
        expect((await logged(other)).map(([, attempts]) => attempts)).toEqual([0, 0]);
      },
    );

    test("a delivery that fails stays canceled, and keeps the attempt", async () => {
      for (const id of ["a", "b"]) await publish(id);
      const { due } = await store.deliveries.claim(application, now, 8);
      await change();
      await store.deliveries.record([ended(due[0], "pending"), ended(due[1], "failed")], []);
      expect((await logged()).map(([status, attempts]) => [status, attempts])).toEqual([
        ["canceled", 1],
        ["canceled", 1],
      ]);
      expect((await store.deliveries.pending()).map(({ application_id }) => application_id)).not.toContain(
        application,
      );
    });

    test("a delivery stays canceled if it ended without an attempt, or was recorded for an earlier claim", async () => {
      for (const id of ["a", "b"]) await publish(id);
      const { due } = await store.deliveries.claim(application, now, 8);
      await store.deliveries.record([ended(due[1], "pending")], []);
      await change();
      await store.deliveries.record(
        [{ ...ended(due[0], "delivered"), attempts: 0, attempt: null }, ended(due[1], "delivered")],
        [],
      );
      expect((await logged()).map(([status]) => status)).toEqual(["canceled", "canceled"]);
    });
  });
});

function ended(due: DueDelivery | undefined, status: "delivered" | "pending" | "failed"): AttemptResult {
  const next_attempt_at = status === "pending" ? now + 5_000 : null;
  return attemptResult(due, { at: now + 2, attempts: (due?.attempts ?? 0) + 1, status, next_attempt_at });
}
