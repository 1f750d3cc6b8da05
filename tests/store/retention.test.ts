import { beforeEach, describe, expect, test } from "bun:test";
import { type DeliveryStatus, everything } from "../../src/domain/deliveries.ts";
import { newEndpoint } from "../../src/domain/endpoints.ts";
import type { Store } from "../../src/domain/store.ts";
import { day } from "../../src/domain/time.ts";
import {
  attemptResult,
  loggedDeliveries,
  newEvent,
  ownStore,
  storedAt,
  subscriber,
  type TestStore,
} from "../support/store.ts";

/*
 * An implementation may keep rows for longer than set, up to a day with this retention: the tests stay clear of that.
 */

const start = storedAt;
const retention = { deliveredMs: 5 * day, failedMs: 10 * day, bodiesMs: 2 * day };

describe("retention", () => {
  let opened: TestStore;
  let store: Store;
  let application: string;
  let now: number;

  beforeEach(async () => {
    opened = await ownStore();
    now = start;
    ({ store } = opened);
    application = await subscriber(store, { events: ["kicks.gifted"] });
  });

  async function prune(): Promise<void> {
    for (let steps = 0; !(await store.retention.prune(retention, now)); steps++) {
      if (steps > 1_000) throw new Error("it has no end");
    }
  }

  /** Moves the clock, and prunes twice a day. */
  async function pass(days: number): Promise<void> {
    for (const until = now + days * day; now < until; await prune()) now = Math.min(until, now + day / 2);
  }

  const publish = (id: string) =>
    store.events.publish(
      newEvent(id, { name: "kicks.gifted", fingerprint: Buffer.from("same"), published_at: now }),
      () => false,
    );

  /** An event of now whose delivery has ended in some state. */
  async function past(id: string, status: DeliveryStatus): Promise<void> {
    await publish(id);
    if (status === "pending") return;
    const { due } = await store.deliveries.claim(application, now, 100);
    const ended = due.filter(({ event }) => event.id === id);
    await store.deliveries.record(
      ended.map((one) => attemptResult(one, { at: now, status })),
      [],
    );
    await store.deliveries.release(due.map(({ seq }) => seq));
  }

  /** The deliveries of the log, and the events among them whose body is kept. */
  async function kept() {
    const logged = await loggedDeliveries(store);
    const bodies = [];
    for (const { id, event_id } of logged) {
      if ((await store.deliveries.find(everything, id))?.body) bodies.push(event_id);
    }
    return { deliveries: logged.map(({ event_id }) => event_id), bodies, logged };
  }

  test("keeps deliveries younger than their time, with their attempts, and all pending ones", async () => {
    await past("failed 40", "failed");
    await pass(20);
    await past("pending 20", "pending");
    await past("delivered 20", "delivered");
    await pass(11.5);
    await past("canceled 8.5", "canceled");
    await past("failed 8.5", "failed");
    await past("delivered 8.5", "delivered");
    await pass(5);
    await past("delivered 3.5", "delivered");
    await pass(3);
    await past("expired 0.5", "expired");
    await past("delivered 0.5", "delivered");
    await pass(0.5);
    await past("pending 0", "pending");
    await prune();
    const { deliveries, bodies, logged } = await kept();
    const young = ["expired 0.5", "delivered 0.5", "pending 0"];
    expect(deliveries).toEqual(["pending 20", "canceled 8.5", "failed 8.5", "delivered 3.5", ...young]);
    expect(bodies).toEqual(["pending 20", ...young]);
    expect(logged.map(({ attempts }) => attempts.length)).toEqual([0, 1, 1, 1, 1, 1, 0]);
    // Pending deliveries can still be sent.
    const { due } = await store.deliveries.claim(application, now, 8);
    expect(due.map(({ event }) => event.body.toString())).toEqual(["{}", "{}"]);
  });

  test("keeps the id of an event for seven days, and not much longer", async () => {
    await past("old", "delivered");
    await pass(8);
    await past("known", "delivered");
    await pass(6.5);
    expect((await publish("known")).deliveries).toBe(1);
    expect((await kept()).deliveries).toEqual([]);
    await publish("old");
    expect((await kept()).deliveries).toEqual(["old"]);
  });

  test("gives no delivery number twice after all were removed, and knows the last removed one", async () => {
    await past("a", "delivered");
    await past("b", "delivered");
    const numbers = (await kept()).logged.map(({ seq }) => seq);
    expect(await store.deliveries.lastRemoved(application)).toBe(0);
    await pass(40);
    expect(await kept()).toMatchObject({ deliveries: [] });
    expect(await store.deliveries.lastRemoved(application)).toBe(numbers[1] ?? 0);
    expect(await store.deliveries.last()).toBeGreaterThanOrEqual(numbers[1] ?? 0);
    store = await opened.reopen();
    await store.deliveries.releaseAll();
    await past("c", "pending");
    const { due } = await store.deliveries.claim(application, now, 1);
    expect(due[0]?.sequence).toBe(3);
    expect(due[0]?.seq).toBeGreaterThan(numbers[1] ?? 0);
    expect(await store.deliveries.lastRemoved(application)).toBe(numbers[1] ?? 0);
  });

  test("expires deliveries of an endpoint three days after it was disabled, and no younger ones", async () => {
    await past("old", "pending");
    const disabled = { ...newEndpoint(application), failing_since: now, disabled_at: now };
    await store.deliveries.record([], [{ ...disabled, disabled_reason: "gone" }]);
    await pass(2);
    await past("young", "pending");
    expect((await kept()).logged.map(({ status }) => status)).toEqual(["pending", "pending"]);
    await pass(2);
    expect((await kept()).logged.map(({ status }) => status)).toEqual(["expired", "pending"]);
  });
});
