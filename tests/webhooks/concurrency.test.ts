import { afterAll, beforeAll, expect, test } from "bun:test";
import { newId } from "../../src/domain/ids.ts";
import { isoTime } from "../../src/domain/time.ts";
import { userFrom } from "../../src/domain/users.ts";
import { createLog } from "../../src/log.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import type { SendRequest } from "../../src/webhooks/client/sender.ts";
import { createDispatcher } from "../../src/webhooks/dispatcher.ts";
import { eventSink } from "../../src/webhooks/event-sink.ts";
import { newSigningKey, newWebhookSecret, readSigningKey } from "../../src/webhooks/signature.ts";
import { event, publishAll, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { Receiver } from "../support/receiver.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ args: ["--webhook-concurrency", "4"] });
  await server.load("users", users);
});
afterAll(() => server.stop());

const followed = (count: number, broadcaster: number) =>
  Array.from({ length: count }, () => event("channel.followed", { broadcaster_user_id: broadcaster }));

test("as many are under way to an endpoint as the setting says, or as the operator says for the application", async () => {
  const held: (() => void)[] = [];
  const receiver = new Receiver(async () => {
    await new Promise<void>((answer) => held.push(answer));
    return new Response(null, { status: 204 });
  });
  const app = await server.application({ webhook_url: receiver.url });
  const allow = async (webhook_concurrency: number | null) => {
    const path = `/admin/v1/applications/${app.id}`;
    expect((await server.admin("PATCH", path, { webhook_concurrency })).status).toBe(200);
  };
  await subscribe(server, app, ["channel.followed"], 1001);
  await publishAll(server, followed(40, 1001));
  const underWay = async (count: number) => {
    await until(
      () => held.length >= count,
      () => `${held.length} instead of ${count}`,
    );
    await Bun.sleep(50);
    expect(held.length).toBe(count);
  };

  await underWay(4);
  await allow(6);
  await underWay(6);
  await allow(2);
  for (const answer of held.splice(0)) answer();
  await underWay(2);
  await allow(null);
  await underWay(4);
  const answering = setInterval(() => held.splice(0).forEach((answer) => void answer()), 1);
  await receiver.arrived(40);
  await settled(server);
  clearInterval(answering);
  await receiver.stop();
});

test("an endpoint with a latency that jitters gets 1,500 events within ten seconds", async () => {
  const own = await startServer();
  const receiver = new Receiver(async () => {
    await Bun.sleep(50 + 150 * Math.random());
    return new Response(null, { status: 204 });
  });
  await own.load("users", users);
  const app = await own.application({ webhook_url: receiver.url });
  await subscribe(own, app, ["channel.followed"], 1001);
  await publishAll(own, followed(1_500, 1001));
  await receiver.arrived(1_500);
  await own.stop();
  await receiver.stop();
});

test("endpoints that never answer leave connections for others", async () => {
  const directory = temporaryDirectory();
  const store = openStore(directory.path);
  const now = () => Date.parse("2026-01-14T16:00:00.000Z");
  const at = isoTime(now());
  await store.users.upsert([userFrom({ id: 1, username: "ada" }), userFrom({ id: 2, username: "bob" })], at);
  const subscriber = async (host: string, broadcaster: number) => {
    const id = newId();
    await store.applications.create({
      id,
      name: host,
      client_type: "confidential",
      webhook_url: `https://${host}/`,
      webhook_secret: newWebhookSecret(),
      scopes: [],
      redirect_uris: [],
      rate_limit: null,
      subscription_limit: null,
      created_at: at,
      updated_at: at,
      client_secret_hash: new Uint8Array(32),
    });
    const key = { app_id: id, broadcaster_user_id: broadcaster, event: "channel.followed", version: 1 };
    await store.subscriptions.subscribe([key], 1, now());
  };
  for (let i = 0; i < 20; i++) await subscriber("slow.test", 1);
  await subscriber("well.test", 2);
  const sent: string[] = [];
  const sender = {
    send({ url }: SendRequest) {
      sent.push(new URL(url).host);
      return new Promise<never>(() => {});
    },
  };
  const dispatcher = createDispatcher({
    store,
    sender,
    signingKey: readSigningKey(newSigningKey()),
    log: createLog("off"),
    now,
    steady: now,
    random: () => 0.5,
    connections: 40,
  });
  const running = new AbortController();
  void dispatcher.run(running.signal);
  const { publish } = eventSink(store, dispatcher);
  const one = (id: string, broadcaster_user_id: number) => ({
    id,
    name: "channel.followed",
    version: 1,
    broadcaster_user_id,
    body: "{}",
    fingerprint: Buffer.from(id),
    published_at: now(),
    expires_at: null,
  });
  await publish(one("slow-0", 1));
  await until(() => sent.length === 20);
  for (let i = 1; i < 20; i++) await publish(one(`slow-${i}`, 1));
  await until(() => sent.length > 30);
  await Bun.sleep(50);
  const slow = sent.length;
  expect(slow).toBeLessThan(40);
  for (let i = 0; i < 5; i++) await publish(one(`well-${i}`, 2));
  await until(() => sent.includes("well.test"));
  expect(sent.length).toBeLessThanOrEqual(40);
  await store.close();
  directory.remove();
});
