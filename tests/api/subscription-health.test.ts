import { expect, test } from "bun:test";
import { day } from "../../src/domain/time.ts";
import { deliveryLog } from "../support/delivery-log.ts";
import { event, publish, subscriptionsPath } from "../support/publishing.ts";
import { json } from "../support/server.ts";

// `GET /public/v1/events/subscriptions/{id}`.

const log = await deliveryLog();
const { server, clock, sent } = log;

const health = async () => {
  const response = await server.get(`${subscriptionsPath}/${log.subscriptions[0]}`, log.app.token);
  return json<{ data: Record<string, unknown> }>(response);
};
const record = () => ({
  id: log.subscriptions[0],
  app_id: log.app.id,
  broadcaster_user_id: 1001,
  event: "kicks.gifted",
  version: 1,
  method: "webhook",
  created_at: expect.any(String),
  updated_at: expect.any(String),
});
const well = {
  status: "enabled",
  disabled_reason: null,
  pending: 0,
  oldest_pending_at: null,
  last_success_at: null,
  last_failure: null,
  sequence: 0,
};

test("a subscription is well before anything was sent, and when it was taken", async () => {
  expect(await health()).toEqual({ data: { ...record(), ...well }, message: "OK" } as never);
  await sent(1);
  const last_success_at = new Date(clock.ms).toISOString();
  expect((await health()).data).toEqual({ ...record(), ...well, last_success_at, sequence: 1 });
});

test("a subscription shows failures, and the pending deliveries of this subscription alone", async () => {
  log.status = 503;
  const at = new Date(clock.ms).toISOString();
  await sent(1);
  clock.advance(day / 2);
  await sent(1);
  await sent(1, "channel.followed");
  expect((await health()).data).toMatchObject({
    status: "failing",
    pending: 2,
    oldest_pending_at: at,
    last_failure: { status: 503, error: "The answer was 503." },
    sequence: 2,
  });
});

test("a subscription is disabled with the reason", async () => {
  log.status = 410;
  await sent(1);
  expect((await health()).data).toMatchObject({ status: "disabled", disabled_reason: "gone" });
  await publish(server, event("kicks.gifted"));
  expect((await health()).data).toMatchObject({ pending: 1 });
});

test("a subscription is disabled where the application has no webhook URL", async () => {
  await server.admin("PATCH", `/admin/v1/applications/${log.app.id}`, { webhook_url: null });
  expect((await health()).data).toMatchObject({ status: "disabled", disabled_reason: "no_webhook_url" });
});
