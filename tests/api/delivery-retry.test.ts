import { expect, test } from "bun:test";
import { hour } from "../../src/domain/time.ts";
import { type Delivery, deliveryLog } from "../support/delivery-log.ts";
import { sendDue, settled, subscribe, subscriptionsPath } from "../support/publishing.ts";
import { isOnPostgres, json } from "../support/server.ts";

// `POST /public/v1/events/deliveries/{id}/retry`.

const log = await deliveryLog();
const { server, clock, sent, first, get, retry, change, forgetBody } = log;

test("a retry sends again now with the same id, whatever became of it; attempts go on counting", async () => {
  await sent(1);
  const { id } = await first();
  const response = await retry(id);
  expect(response.status).toBe(202);
  expect((await json<{ data: Delivery }>(response)).data).toMatchObject({ id, status: "pending" });
  await settled(server);
  const [one, two] = log.receiver.received.slice(-2);
  expect(two?.headers).toMatchObject({ "webhook-id": id, "onair-attempt": "2" });
  expect(two?.body).toBe(one?.body ?? "");
  expect(await first()).toMatchObject({
    status: "delivered",
    attempts: [{ status: 204 }, { status: 204 }],
  });
});

test("a retry does not wait for the schedule, nor for an endpoint that is held up", async () => {
  log.status = 500;
  await sent(6); // five failures open the circuit
  const before = log.receiver.received.length;
  log.status = 204;
  await retry((await first("?status=pending")).id);
  await settled(server);
  expect(log.receiver.received.length).toBeGreaterThan(before);
});

test("a retry sends an expired delivery, whatever its age", async () => {
  const [chat = ""] = await subscribe(server, log.app, ["chat.message.sent"]);
  log.status = 500;
  await sent(1, "chat.message.sent");
  clock.advance(hour);
  await sendDue(server, log.app);
  const expired = await first(`?subscription_id=${chat}`);
  expect(expired.status).toBe("expired");
  log.status = 204;
  await retry(expired.id);
  await settled(server);
  expect((await first(`?subscription_id=${chat}`)).status).toBe("delivered");
});

const inTheFile: readonly [string, (delivery: Delivery) => unknown, string][] = [
  ["its body is no longer kept", ({ id }) => forgetBody(id), "no longer kept"],
  [
    "it was attempted too often",
    ({ id }) => change("UPDATE deliveries SET attempts = 100 WHERE id = ?", id),
    "100 times",
  ],
];

test.each<[string, (delivery: Delivery) => unknown, string]>([
  ...(isOnPostgres ? [] : inTheFile),
  [
    "its subscription is gone",
    () => server.get(`${subscriptionsPath}?id=${log.subscriptions[0]}`, log.app.token, { method: "DELETE" }),
    "subscription was deleted",
  ],
  [
    "there is no webhook URL",
    () => server.admin("PATCH", `/admin/v1/applications/${log.app.id}`, { webhook_url: null }),
    "no webhook URL",
  ],
  [
    "its endpoint is disabled",
    async () => {
      log.status = 410;
      await sent(1);
    },
    "endpoint is disabled",
  ],
])("a retry is 409 when %s, and sends nothing", async (_, prepare, message) => {
  await sent(1);
  const delivery = await first();
  await prepare(delivery);
  const before = log.receiver.received.length;
  const response = await retry(delivery.id);
  const body = await json<{ code: string; message: string }>(response);
  expect([response.status, body.code]).toEqual([409, "conflict"]);
  expect(body.message).toContain(message);
  await settled(server);
  expect(log.receiver.received.length).toBe(before);
  expect((await json<{ data: Delivery }>(await get(delivery.id))).data.status).toBe("delivered");
});
