import { expect, test } from "bun:test";
import type { DeliveryRecord } from "../../src/domain/deliveries.ts";
import { openStream, resumeStream, type StreamedEvent, streamPath } from "../support/event-stream.ts";
import { event, publish, settled, subscribe, subscriptionsPath } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver } from "../support/receiver.ts";
import {
  isOnPostgres,
  json,
  ownDirectory,
  ownServer,
  refusal,
  type TestApplication,
  type TestServer,
  testServer,
} from "../support/server.ts";
import { changeStored, loggedDeliveries } from "../support/store.ts";
import { until } from "../support/until.ts";

// The `delivery` of an application says how it gets its events: by webhook, on the stream, or both.

const followed = "channel.followed";
const chat = "chat.message.sent";
const types = (events: readonly StreamedEvent[]) => events.map(({ type }) => type);

const server = await testServer({ users });

/** An application that gets its events in this way, subscribed to two of broadcaster 1001. */
async function subscribed(fields: object, on: TestServer = server): Promise<TestApplication> {
  const app = await on.application(fields);
  await subscribe(on, app, [followed, chat]);
  return app;
}
/** Publishes the first event of an application, and gives it as its stream had it. */
async function firstStreamed(app: TestApplication, on: TestServer = server) {
  const client = await openStream(on, app.token, [followed]);
  await publish(on, event(followed));
  const [first] = await client.arrived(1);
  client.close();
  if (!first) throw new Error("nothing arrived");
  return first;
}
const change = (app: TestApplication, fields: object) =>
  server.admin("PATCH", `/admin/v1/applications/${app.id}`, fields);
const failing = () => new Response(null, { status: 500 });

test("webhook, where nothing is said: the stream is refused", async () => {
  const app = await server.application();
  // 403 comes before 400.
  for (const path of [streamPath, `${streamPath}?after=yesterday`])
    expect(await refusal(server.get(path, app.token))).toEqual([403, "stream_disabled"]);
});

test("stream: nothing is sent to its URL, and subscribing needs none", async () => {
  const receiver = ownReceiver();
  const without = await server.application({ delivery: "stream" });
  expect(await subscribe(server, without, [followed])).toEqual([expect.any(String)]);
  await firstStreamed(await subscribed({ delivery: "stream", webhook_url: receiver.url }));
  await settled(server);
  expect(receiver.received).toEqual([]);
});

test("both: the same delivery comes to either", async () => {
  const receiver = ownReceiver();
  const streamed = await firstStreamed(await subscribed({ delivery: "both", webhook_url: receiver.url }));
  const [sent] = await receiver.arrived(1);
  expect(streamed.data.body).toBe(sent?.body ?? "");
  expect(streamed.data.headers["webhook-id"]).toBe(sent?.headers["webhook-id"] ?? "");
});

test("after a change to the stream, pending deliveries can be read from it, and are not sent", async () => {
  const receiver = ownReceiver(failing);
  const app = await subscribed({ delivery: "both", webhook_url: receiver.url });
  const first = await firstStreamed(app);
  await publish(server, event(chat));
  await receiver.arrived(2);
  await settled(server);
  const changed = await change(app, { delivery: "stream" });
  expect(await json(changed)).toMatchObject({ delivery: "stream", webhook_url: receiver.url });
  expect(types(await resumeStream(server, app.token, [chat], first.id).arrived(1))).toEqual([chat]);
  await change(app, { delivery: "webhook" });
  await settled(server);
  expect(receiver.received).toHaveLength(2);
});

test("both without a URL is as stream, also where the URL is taken away", async () => {
  const receiver = ownReceiver(failing);
  const app = await subscribed({ delivery: "both", webhook_url: receiver.url });
  const first = await firstStreamed(app);
  await publish(server, event(chat));
  await receiver.arrived(2);
  await settled(server);
  await change(app, { webhook_url: null });
  await publish(server, event(chat));
  await settled(server);
  expect(types(await resumeStream(server, app.token, [chat], first.id).arrived(2))).toEqual([chat, chat]);
  expect(receiver.received).toHaveLength(2);
});

test("events published while it is disabled are not sent later", async () => {
  const app = await subscribed({ delivery: "stream" });
  const client = await openStream(server, app.token, [followed]);
  await publish(server, event(followed));
  const [first] = await client.arrived(1);
  await change(app, { disabled: true });
  await publish(server, event(chat));
  await client.until(({ errors }) => errors.includes(401));
  await settled(server);
  await change(app, { disabled: false });
  await publish(server, event(followed));
  const later = resumeStream(server, app.token, [followed, chat], first?.id);
  expect(types(await later.arrived(1))).toEqual([followed]);
  expect(client.events).toHaveLength(1);
});

test("stream: its subscriptions are enabled without a URL, and its deliveries cannot be retried", async () => {
  const receiver = ownReceiver();
  const app = await server.application({ delivery: "stream" });
  const [id = ""] = await subscribe(server, app, [followed]);
  const first = await firstStreamed(app);
  const health = await json(await server.get(`${subscriptionsPath}/${id}`, app.token));
  expect(health).toMatchObject({ data: { status: "enabled", disabled_reason: null, pending: 0 } });
  await change(app, { webhook_url: receiver.url });
  const delivery = `/public/v1/events/deliveries/${first.data.headers["webhook-id"]}`;
  const shown = await json(await server.get(delivery, app.token));
  expect(shown).toMatchObject({ data: { status: "delivered", attempts: [] } });
  const again = server.get(`${delivery}/retry`, app.token, { method: "POST" });
  expect(await refusal(again)).toEqual([409, "conflict"]);
  expect(receiver.received).toEqual([]);
});

test.skipIf(isOnPostgres)(
  "stream: a delivery that is due once more is not sent either, and can be read still",
  async () => {
    const data = ownDirectory();
    const before = await ownServer({ data, users });
    const receiver = ownReceiver();
    const app = await subscribed({ delivery: "stream", webhook_url: receiver.url }, before);
    const first = await firstStreamed(app, before);
    await publish(before, event(chat));
    await before.stop();
    await changeStored(
      data,
      "UPDATE deliveries SET status = 'pending', next_attempt_at = 0, finished_at = NULL",
    );
    const after = await ownServer({ data });
    const areAll = (all: readonly DeliveryRecord[]) => all.every(({ status }) => status === "delivered");
    await until(async () => areAll(await loggedDeliveries(after.app.store)));
    expect(types(await resumeStream(after, app.token, [chat], first.id).arrived(1))).toEqual([chat]);
    expect(receiver.received).toEqual([]);
  },
);
