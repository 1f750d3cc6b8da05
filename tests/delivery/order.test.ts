import { beforeEach, expect, test } from "bun:test";
import { DomainError } from "../../src/domain/errors.ts";
import { type Ownership, soleOwnership } from "../../src/domain/replicas.ts";
import type { Store } from "../../src/domain/store.ts";
import { dispatching, gone, ok } from "../support/dispatching.ts";
import { isOnPostgres } from "../support/server.ts";
import { loggedDeliveries, ownStore, subscriber, type TestStore, wholeLog } from "../support/store.ts";
import { someTurns, until } from "../support/until.ts";

let opened: TestStore;
let store: Store;
beforeEach(async () => {
  opened = await ownStore();
  ({ store } = opened);
});

/** Refuses to record results until the disk has space again. */
const fullDisk = () => {
  const disk = { isFull: true };
  const record: Store["deliveries"]["record"] = async (...batch) => {
    if (disk.isFull) throw new DomainError("unavailable", "the disk is full");
    await store.deliveries.record(...batch);
  };
  return { disk, record };
};

test("a new event does not overtake first attempts that are being returned to the store", async () => {
  const application = await subscriber(store);
  const recording = Promise.withResolvers<void>();
  const { dispatcher, sent, receiver, publish, stop } = dispatching(store, {
    async record(...batch) {
      await recording.promise;
      await store.deliveries.record(...batch);
    },
  });

  for (let i = 1; i <= 20; i++) await publish(`e${i}`);
  await until(() => sent.length === 8);
  // The endpoint is disabled: deliveries not started are returned. It is enabled before that is on disk.
  sent[0]?.answer(gone);
  for (const { answer } of sent.slice(1)) answer(ok);
  await dispatcher.enable(application);
  receiver.answersAll = true;
  await publish("e21");
  await someTurns();
  recording.resolve();
  await until(() => sent.length >= 21);

  expect(sent.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
  await stop();
});

test("a new event does not overtake one that goes back to the store as soon as it is committed", async () => {
  const application = await subscriber(store);
  const committing = Promise.withResolvers<void>();
  const slow = {
    ...store,
    events: {
      ...store.events,
      async publish(...given: Parameters<typeof store.events.publish>) {
        if (given[0].id !== "e1") await committing.promise;
        return store.events.publish(...given);
      },
    },
  };
  const one = dispatching(slow);
  one.receiver.answersAll = true;
  await one.publish("e1");
  await one.settled();
  const published = [one.publish("e2")];
  for (const disabled of [true, false])
    await one.store.applications.update(application, { disabled }, one.now());
  published.push(one.publish("e3"));
  committing.resolve();
  await Promise.all(published);
  await until(() => one.sent.length === 3);
  expect(one.sent.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  await one.stop();
});

test.each(["enabled by hand", "given another URL"])(
  "a 410 that cannot be recorded on a full disk does not disable an endpoint that is %s meanwhile",
  async (how) => {
    const application = await subscriber(store);
    const { disk, record } = fullDisk();
    const one = dispatching(store, { record });
    await one.publish("e1");
    await until(() => one.sent.length === 1);
    one.sent[0]?.answer(gone);
    const changes = { webhook_url: "https://other.test/" };
    if (how === "enabled by hand") await one.dispatcher.enable(application);
    else await one.store.applications.update(application, changes, one.now());
    disk.isFull = false;
    await until(() => one.dispatcher.stats.unrecorded === 0);
    expect(await store.endpoints.failing()).toEqual([]);
    await one.stop();
    // Nor in the next process.
    store = await opened.reopen();
    expect(await store.endpoints.failing()).toEqual([]);
    const next = dispatching(store);
    await next.publish("e2");
    await until(() => next.sent.length === 1);
    next.sent[0]?.answer(ok);
    await next.stop();
  },
);

test("a retry that is not recorded yet when the endpoint is enabled is due at once, like recorded ones", async () => {
  const application = await subscriber(store);
  const { disk, record } = fullDisk();
  const one = dispatching(store, { record });
  await one.publish("e1");
  await until(() => one.sent.length === 1);
  one.sent[0]?.answer({ ...gone, status: 500 });
  await one.dispatcher.enable(application);
  disk.isFull = false;
  one.receiver.answersAll = true;
  await until(() => one.sent.length === 2);
  await one.stop();
});

test.each([
  ["disabled", { disabled: true }, { disabled: false }, "canceled"],
  ["switched to the stream", { delivery: "stream" }, { delivery: "webhook" }, "delivered"],
] as const)(
  "deliveries in memory when their application is %s are not sent, also if that is undone at once",
  async (_, change, undo, status) => {
    const application = await subscriber(store);
    const one = dispatching(store);
    for (let i = 1; i <= 20; i++) await one.publish(`e${i}`);
    await until(() => one.sent.length === 8);
    const { applications } = one.store;
    const changing = applications.update(application, change, one.now());
    // On SQLite both are in one commit; on PostgreSQL concurrent changes have no order.
    if (isOnPostgres) await changing;
    await applications.update(application, undo, one.now());
    // Committed behind both of them: this one is due.
    await one.publish("e21");
    one.receiver.answersAll = true;
    for (const { answer } of one.sent.slice(0, 8)) answer(ok);
    await until(() => one.sent.length > 8);
    await until(() => one.dispatcher.stats.unrecorded + one.dispatcher.stats.queued === 0);
    expect(one.sent.slice(8).map(({ sequence }) => sequence)).toEqual([21]);
    const filter = { ...wholeLog, application_id: application, status };
    const { deliveries } = await store.deliveries.page(filter, null, 100);
    const ended = deliveries.filter(({ attempts }) => attempts.length === 0).map(({ sequence }) => sequence);
    expect(ended.sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i + 9));
    await one.stop();
  },
);

test("an event that was stored but whose acknowledgement was lost is sent, and before newer ones", async () => {
  const application = await subscriber(store);
  const noAnswer = new DomainError("unavailable", "The answer was lost");
  const forgetful = {
    ...store,
    events: {
      ...store.events,
      async publish(...given: Parameters<typeof store.events.publish>) {
        const [event, reserveSlot] = given;
        if (event.id !== "e2") return store.events.publish(event, reserveSlot);
        await store.events.publish(event, () => false);
        throw noAnswer;
      },
    },
  };
  const one = dispatching(forgetful);
  one.receiver.answersAll = true;
  await one.publish("e1");
  await expect(one.publish("e2")).rejects.toBe(noAnswer);
  for (const id of ["e3", "e4"]) await one.publish(id);
  await until(() => one.sent.length === 4);
  expect(one.sent.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
  await one.settled();
  expect(await loggedDeliveries(store, { application_id: application, status: "delivered" })).toHaveLength(4);
  await one.stop();
});

test("an event whose acknowledgement was lost while the dispatcher starts is sent without any other event", async () => {
  await subscriber(store);
  const sole = soleOwnership(() => store.deliveries.releaseAll());
  const [joined, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ownership: Ownership = {
    ...sole,
    async join(deliverer) {
      await sole.join(deliverer);
      joined.resolve();
      await started.promise;
    },
  };
  const forgetful = {
    ...store,
    events: {
      ...store.events,
      async publish(...[event]: Parameters<typeof store.events.publish>) {
        await store.events.publish(event, () => false);
        throw new DomainError("unavailable", "The answer was lost");
      },
    },
  };
  const one = dispatching(forgetful, { ownership });
  one.receiver.answersAll = true;
  // The pending deliveries were read before.
  await joined.promise;
  await expect(one.publish("e1")).rejects.toThrow("lost");
  started.resolve();
  await until(() => one.sent.length === 1);
  await one.stop();
});
