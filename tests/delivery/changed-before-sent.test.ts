import { beforeEach, expect, test } from "bun:test";
import type { SendRequest, SendResult } from "../../src/delivery/send/send.ts";
import { newWebhookSecret } from "../../src/delivery/signature.ts";
import type { Store } from "../../src/domain/store.ts";
import { userFrom } from "../../src/domain/users.ts";
import { dispatching, ok } from "../support/dispatching.ts";
import { loggedDeliveries, newEvent, ownStore, subscriber } from "../support/store.ts";
import { until } from "../support/until.ts";

/*
 * The application changes while a connection to its receiver is made: what is written behind the acknowledgement
 * follows the change. What was written before it stays an attempt. `engine-model.test.ts` has examples of it, too: a
 * rotated secret, another URL, and an application that is disabled or switched to the stream.
 */

const notSent: SendResult = { ...ok, class: "canceled", status: null };

let store: Store;
let application: string;
let requests: SendRequest[];
let connected: PromiseWithResolvers<void>;
beforeEach(async () => {
  ({ store } = await ownStore());
  application = await subscriber(store);
  requests = [];
  connected = Promise.withResolvers();
});

/** Connects when the test says so, and then asks whether to write the request, as the sender does. */
const send = async (request: SendRequest): Promise<SendResult> => {
  requests.push(request);
  await connected.promise;
  return request.mayBeSent?.() === false ? notSent : ok;
};

test("another header of its own: the request has the new one, and never the old one", async () => {
  const set = (value: string) => ({ webhook_headers: { "X-Key": value } });
  await store.applications.update(application, set("old"), 0);
  const one = dispatching(store, { send });
  await one.publish("e1");
  await until(() => requests.length === 1);
  await one.store.applications.update(application, set("new"), one.now());
  expect(requests[0]?.mayBeSent?.()).toBe(false);
  connected.resolve();
  await until(() => requests.length === 2);
  await one.settled();
  expect(requests.map(({ headers }) => headers["X-Key"])).toEqual(["old", "new"]);
  await one.stop();
});

test("an application enabled again: an event from before, which still waits for a connection, is not sent", async () => {
  const other = await subscriber(store, { webhook_url: "https://other.test/", broadcaster: 7 });
  const one = dispatching(store, { send, connections: 1 });
  await one.publish("e1");
  await until(() => requests.length === 1);
  await one.store.applications.update(other, { disabled: true }, one.now());
  await one.publish("e2", 7);
  await one.store.applications.update(other, { disabled: false }, one.now());
  connected.resolve();
  await one.settled();
  expect(requests).toHaveLength(1);
  expect(await loggedDeliveries(store, { application_id: other })).toMatchObject([
    { status: "canceled", attempts: [] },
  ]);
  await one.stop();
});

test("a removed application: the request is not sent", async () => {
  const one = dispatching(store, { send });
  await one.publish("e1");
  await until(() => requests.length === 1);
  await one.store.applications.remove(application, one.now());
  expect(requests[0]?.mayBeSent?.()).toBe(false);
  connected.resolve();
  await one.settled();
  expect(requests).toHaveLength(1);
  expect(await loggedDeliveries(store, { application_id: application })).toMatchObject([
    { status: "canceled", attempts: [] },
  ]);
  await one.stop();
});

test("a removed subscription: the request is not sent, one for another subscription is", async () => {
  const user = userFrom({ id: 2, username: "user_2" });
  await store.users.upsert([user], "2026-01-14T16:00:00.000Z");
  const wanted = [{ broadcaster_user_id: 2, event: "channel.followed", version: 1 }];
  await store.subscriptions.subscribe({ applicationId: application, wanted, limit: 10 }, 0);
  const one = dispatching(store, { send });
  await one.publish("e1");
  await one.publish("e2", 2);
  await until(() => requests.length === 2);
  const id = requests[0]?.headers["onair-subscription-id"] ?? "";
  await one.store.subscriptions.remove(application, [id], one.now());
  connected.resolve();
  await one.settled();
  expect(requests).toHaveLength(2);
  expect(await loggedDeliveries(store, { application_id: application })).toMatchObject([
    { event_id: "e1", status: "canceled", attempts: [] },
    { event_id: "e2", status: "delivered", attempts: [{}] },
  ]);
  await one.stop();
});

test("another application: the request is sent", async () => {
  const other = await subscriber(store, { broadcaster: 2 });
  const one = dispatching(store, { send });
  await one.publish("e1");
  await until(() => requests.length === 1);
  await one.store.applications.update(other, { disabled: true }, one.now());
  connected.resolve();
  await one.settled();
  expect(requests).toHaveLength(1);
  expect(await loggedDeliveries(store, { application_id: application })).toMatchObject([
    { status: "delivered" },
  ]);
  await one.stop();
});

test("events published while it connects do not overtake it", async () => {
  const connecting = async (request: SendRequest): Promise<SendResult> => {
    const canceled = Promise.withResolvers<SendResult>();
    request.connecting?.(() => canceled.resolve(notSent));
    return Promise.race([send(request), canceled.promise]);
  };
  const one = dispatching(store, { send: connecting });
  await one.publish("e1");
  await until(() => requests.length === 1);
  const secret = newWebhookSecret();
  await one.store.applications.rotateWebhookSecret(application, secret, { now: one.now(), overlapMs: 0 });
  await one.publish("e2");
  await until(() => requests.length === 3);
  connected.resolve();
  await one.settled();
  expect(requests.map(({ headers }) => headers["onair-event-id"])).toEqual(["e1", "e1", "e2"]);
  await one.stop();
});

test("deliveries being claimed meanwhile are returned as well, and do not overtake it", async () => {
  const claimed = Promise.withResolvers<void>();
  let brought = 0;
  const claim: Store["deliveries"]["claim"] = async (...asked) => {
    const result = await store.deliveries.claim(...asked);
    brought += result.due.length;
    // The first event may have come before the dispatcher ran, and further looks may find nothing.
    if (requests.length > 0 && result.due.length > 0) await claimed.promise;
    return result;
  };
  const one = dispatching({ ...store, deliveries: { ...store.deliveries, claim } }, { send });
  await one.publish("e1");
  await until(() => requests.length === 1);
  const before = brought;
  await store.events.publish(newEvent("e2"), () => false);
  one.dispatcher.wake(application);
  await until(() => brought > before);
  const secret = newWebhookSecret();
  await one.store.applications.rotateWebhookSecret(application, secret, { now: one.now(), overlapMs: 0 });
  connected.resolve();
  await until(() => one.dispatcher.stats.inFlight === 0);
  claimed.resolve();
  await one.settled();
  expect(requests.map(({ headers }) => headers["onair-event-id"])).toEqual(["e1", "e1", "e2"]);
  await one.stop();
});
