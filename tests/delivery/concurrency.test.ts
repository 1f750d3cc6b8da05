import { expect, test } from "bun:test";
import { dispatching } from "../support/dispatching.ts";
import { event, publishAll, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver } from "../support/receiver.ts";
import { ownServer } from "../support/server.ts";
import { ownStore, subscriber } from "../support/store.ts";
import { someTurns, until } from "../support/until.ts";

const followed = (count: number, broadcaster: number) =>
  Array.from({ length: count }, () => event("channel.followed", { broadcaster_user_id: broadcaster }));

test("the attempts under way to an endpoint are limited by the setting, or by the application's own limit", async () => {
  const server = await ownServer({ args: ["--webhook-concurrency", "4"], users });
  const held: (() => void)[] = [];
  const receiver = ownReceiver(async () => {
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
  const untilInFlight = async (count: number) => {
    await until(
      async () => held.length >= count && (await server.app.engine.stats()).inFlight === count,
      () => `${held.length} instead of ${count}`,
    );
    expect(held.length).toBe(count);
  };

  await untilInFlight(4);
  await allow(6);
  await untilInFlight(6);
  await allow(2);
  for (const answer of held.splice(0)) answer();
  await untilInFlight(2);
  await allow(null);
  await untilInFlight(4);
  const answering = setInterval(() => held.splice(0).forEach((answer) => void answer()), 1);
  await receiver.arrived(40);
  await settled(server);
  clearInterval(answering);
});

test("endpoints that never answer leave connections for others", async () => {
  const { store } = await ownStore();
  for (let i = 0; i < 20; i++) await subscriber(store, { webhook_url: "https://slow.test/" });
  await subscriber(store, { webhook_url: "https://well.test/", broadcaster: 2 });
  const { sent, publish } = dispatching(store, { connections: 40 });
  await publish("slow-0");
  await until(() => sent.length === 20);
  for (let i = 1; i < 20; i++) await publish(`slow-${i}`);
  await until(() => sent.length > 30);
  await someTurns();
  expect(sent.length).toBeLessThan(40);
  for (let i = 0; i < 5; i++) await publish(`well-${i}`, 2);
  await until(() => sent.some(({ url }) => url === "https://well.test/"));
  expect(sent.length).toBeLessThanOrEqual(40);
});
