import { beforeEach, expect, test } from "bun:test";
import { newEndpoint } from "../../src/domain/endpoints.ts";
import type { Store } from "../../src/domain/store.ts";
import { hour } from "../../src/domain/time.ts";
import { dispatching, gone, ok } from "../support/dispatching.ts";
import { event, publish, settled, subscribedReceiver } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { json, testServer } from "../support/server.ts";
import { ownStore, storedAt, subscriber } from "../support/store.ts";
import { someTurns, until } from "../support/until.ts";

let store: Store;
beforeEach(async () => {
  ({ store } = await ownStore());
});

test("an endpoint that was disabled while an attempt succeeded is still disabled in the next process", async () => {
  const application = await subscriber(store);
  const one = dispatching(store);
  await one.publish("gone");
  await one.publish("taken");
  await until(() => one.sent.length === 2);
  one.sent[0]?.answer(gone);
  await until(async () => Boolean((await store.endpoints.find(application))?.disabled_at));
  one.sent[1]?.answer(ok);
  await one.settled();
  await one.stop();
  const known = await store.endpoints.failing();
  expect(known).toEqual([
    expect.objectContaining({ application_id: application, disabled_reason: "gone", failing_since: null }),
  ]);

  const next = dispatching(store);
  await next.settled();
  // It stays in the store, where it can expire: in memory it would hold a slot until the endpoint is enabled.
  await next.publish("kept");
  await next.settled();
  expect(next.dispatcher.stats).toMatchObject({ queued: 0, suspended: 1 });
  expect(await store.deliveries.pending()).toEqual([{ application_id: application, due_at: 0 }]);
  next.receiver.answersAll = true;
  await next.dispatcher.enable(application);
  await until(() => next.sent.length === 1);
  await next.stop();
});

test("deliveries in memory return to the store when a look-up finds that their endpoint is disabled", async () => {
  const application = await subscriber(store);
  const { dispatcher, publish, sent, settled, stop } = dispatching(store);
  await settled();
  // As with an idle queue that was removed: the dispatcher does not know the state of the endpoint.
  const disabled = { disabled_at: storedAt, disabled_reason: "gone" as const };
  await store.deliveries.record([], [{ ...newEndpoint(application, 0), ...disabled }]);
  await publish("kept");
  await settled();
  expect(sent).toEqual([]);
  expect(dispatcher.stats).toMatchObject({ queued: 0, suspended: 1 });
  expect(await store.deliveries.pending()).toEqual([{ application_id: application, due_at: 0 }]);
  await stop();
});

test("a pause by Retry-After holds in the next process, which sends one delivery when it ends", async () => {
  const application = await subscriber(store);
  const asked = { ...gone, status: 429, retryAfterMs: hour };
  const one = dispatching(store);
  await one.publish("refused");
  await until(() => one.sent.length === 1);
  one.sent[0]?.answer(asked);
  await until(() => one.dispatcher.stats.suspended === 1);
  for (let i = 1; i <= 6; i++) await one.publish(`kept ${i}`);
  await one.settled();
  await one.stop();

  const early = dispatching(store, { at: storedAt + hour - 1 });
  await early.settled();
  await early.publish("kept 7");
  early.dispatcher.wake(application);
  await early.settled();
  expect(early.sent).toEqual([]);
  expect(early.dispatcher.stats).toMatchObject({ queued: 0, suspended: 1 });
  await early.stop();

  const next = dispatching(store, { at: storedAt + hour });
  await until(() => next.sent.length === 1);
  await someTurns();
  next.sent[0]?.answer(asked);
  await until(() => next.dispatcher.stats.suspended === 1);
  await next.settled();
  expect(next.sent).toHaveLength(1);
  await next.stop();
});

test("a manual retry is sent during a pause by Retry-After, also before the stored state was read", async () => {
  const application = await subscriber(store);
  const one = dispatching(store);
  await one.publish("refused");
  await until(() => one.sent.length === 1);
  one.sent[0]?.answer({ ...gone, status: 429, retryAfterMs: hour });
  await until(() => one.dispatcher.stats.suspended === 1);
  await one.publish("kept");
  await one.settled();
  await one.stop();

  const next = dispatching(store, { at: storedAt + 1 });
  next.dispatcher.sendNow(application);
  await until(() => next.sent.length === 1);
  next.sent[0]?.answer(gone);
  await next.stop();
});

const server = await testServer({ users });

test("what is published for a disabled application whose endpoint is disabled, too, is canceled", async () => {
  const answer = () => new Response(null, { status: 410 });
  const { app } = await subscribedReceiver(server, ["channel.followed"], { answer });
  await publish(server, event("channel.followed"));
  await settled(server);
  await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { disabled: true });
  await publish(server, event("channel.followed"));
  const statuses = async () => {
    const list = await server.admin("GET", `/admin/v1/deliveries?application_id=${app.id}`);
    return (await json<{ data: { status: string }[] }>(list)).data.map(({ status }) => status);
  };
  await settled(server);
  expect(await statuses()).toEqual(["canceled", "failed"]);
});
