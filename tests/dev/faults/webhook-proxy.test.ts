import { expect, test } from "bun:test";
import { startWebhookProxy, type WebhookFault } from "../../../src/dev/faults.ts";
import { afterTests } from "../../support/after-tests.ts";
import { scriptedFaults } from "../../support/dev.ts";
import { event, publish, subscribe } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { testReceiver } from "../../support/receiver.ts";
import { json, testServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const webhooks: (WebhookFault | null)[] = [];
const reported: string[] = [];
const proxy = await startWebhookProxy({
  plan: scriptedFaults({ webhooks }),
  tell: (what, about) => void reported.push(`${what}: ${about}`),
});
afterTests(() => proxy.stop());
const server = await testServer({ args: ["--webhook-proxy", proxy.url] });
await server.load("users", users);
const receiver = testReceiver();
const app = await server.application({ webhook_url: receiver.url });
await subscribe(server, app, ["channel.followed"]);
const sequences = (from: number) =>
  receiver.received.slice(from).map(({ headers }) => headers["onair-sequence"]);
const send = () => publish(server, event("channel.followed"));

test("without a fault, deliveries are passed on unchanged", async () => {
  const before = receiver.received.length;
  await send();
  const sent = (await receiver.arrived(before + 1))[before];
  expect(Object.keys(sent?.headers ?? {}).filter((name) => /proxy|forwarded|via/.test(name))).toEqual([]);
  await until(async () => {
    const answer = await server.get("/public/v1/events/deliveries", app.token);
    return (await json<{ data: { status: string }[] }>(answer)).data[0]?.status === "delivered";
  });
  expect(reported).toEqual([]);
});

test("a delayed delivery arrives once", async () => {
  const before = receiver.received.length;
  webhooks.push({ kind: "late", ms: 300 });
  const startedAt = performance.now();
  await send();
  await receiver.arrived(before + 1);
  expect(performance.now() - startedAt).toBeGreaterThan(290);
  expect(reported.at(-1)).toMatch(/^late by 0\.3 s: channel\.followed [0-9A-Z]{26}$/);
});

test("a repeated delivery arrives twice, with the same id and signature", async () => {
  const before = receiver.received.length;
  webhooks.push({ kind: "twice", ms: 50 });
  await send();
  await receiver.arrived(before + 2);
  const [first, second] = receiver.received.slice(before);
  expect(second).toEqual(first as typeof second & object);
  expect(reported.at(-1)).toStartWith("twice, again in 0.05 s");
});

test("a reordered delivery arrives after the next one", async () => {
  const before = receiver.received.length;
  webhooks.push({ kind: "overtaken", ms: 5_000 }, null);
  await send();
  await until(() => reported.at(-1)?.startsWith("overtaken") === true);
  await send();
  await receiver.arrived(before + 2);
  const [first, second] = sequences(before).map(Number);
  expect(first).toBe((second ?? 0) + 1);
});

test("an unreachable receiver is reported as a failure, and samples have no faults", async () => {
  webhooks.push({ kind: "late", ms: 5_000 });
  const { data } = await json<{ data: { delivered: boolean; duration_ms: number } }>(
    await server.post("/public/v1/events/test", {}, app.token),
  );
  expect(data.delivered).toBe(true);
  expect(data.duration_ms).toBeLessThan(4_000);
  webhooks.length = 0;
  const nowhere = await server.application({ webhook_url: "http://127.0.0.1:1/" });
  const failed = await json<{ data: { delivered: boolean } }>(
    await server.post("/public/v1/events/test", {}, nowhere.token),
  );
  expect(failed.data.delivered).toBe(false);
});
