import { expect, test } from "bun:test";
import { hour, minute } from "../../src/domain/time.ts";
import { event, publish, sendDue, settled, subscribe, subscriptionsPath } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * A developer's evening: nothing arrives, and the public API alone is enough to find out why, to mend it, and to get
 * everything that was missed.
 */

const clock = new Clock();
let isBroken = false;

const receiver = testReceiver(() =>
  isBroken
    ? new Response("TypeError: gift is undefined at hook.js:12", { status: 500 })
    : new Response(null, { status: 204 }),
);
const server = await testServer({ clock, users });
const app = await server.application({ webhook_url: receiver.url });

interface Delivery {
  id: string;
  status: string;
  attempts: { status: number; response: string; error: string }[];
}
const api = async <T>(path: string) =>
  (await json<{ data: T }>(await server.get(`/public/v1/events${path}`, app.token))).data;

test("a receiver is down; its developer finds the reason, mends it, and gets the missed deliveries", async () => {
  const [id] = await subscribe(server, app, ["kicks.gifted"]);
  await publish(server, event("kicks.gifted"));
  await settled(server);

  isBroken = true;
  const from = new Date(clock.ms).toISOString();
  for (let n = 0; n < 8; n++) {
    clock.advance(minute);
    await publish(server, event("kicks.gifted", { id: `missed-${n}` }));
    await settled(server);
  }
  // Hours of retries, and the receiver is still broken.
  for (let passed = 0; passed < 20; passed++) {
    clock.advance(hour);
    await sendDue(server, app);
  }

  // Why does nothing arrive?
  const health = await api<Record<string, unknown>>(`/subscriptions/${id}`);
  expect(health).toMatchObject({
    status: "failing",
    pending: 8,
    sequence: 9,
    last_failure: { status: 500, error: "The answer was 500." },
  });
  const [last] = await api<Delivery[]>(`/deliveries?subscription_id=${id}&limit=1`);
  expect(last?.attempts.at(-1)).toMatchObject({
    status: 500,
    response: expect.stringContaining("hook.js:12"),
  });
  const sent = await api<{ request: { body: string } }>(`/deliveries/${last?.id}`);
  expect(JSON.parse(sent.request.body)).toMatchObject({ type: "kicks.gifted" });

  // Mended. One is tried by hand first, then all the rest.
  isBroken = false;
  const before = receiver.received.length;
  const retried = await server.get(`/public/v1/events/deliveries/${last?.id}/retry`, app.token, {
    method: "POST",
  });
  expect(retried.status).toBe(202);
  await receiver.arrived(before + 1);
  const to = new Date(clock.ms).toISOString();
  const asked = { from, to, status: "pending" };
  const counted = await server.post("/public/v1/events/replays", { ...asked, dry_run: true }, app.token);
  expect(counted.status).toBe(202);
  const made = await server.post("/public/v1/events/replays", asked, app.token);
  const replay = (await json<{ data: { id: string } }>(made)).data;
  await until(async () => (await api<{ state: string }>(`/replays/${replay.id}`)).state !== "running");
  await settled(server);

  // Everything that was missed has arrived, and the subscription is well.
  const missed = Array.from({ length: 8 }, (_, n) => `missed-${n}`);
  const arrived = receiver.received.slice(before).map(({ headers }) => headers["onair-event-id"]);
  expect([...new Set(arrived)].sort()).toEqual(missed);
  expect(await api<Record<string, unknown>>(`/subscriptions/${id}`)).toMatchObject({
    status: "enabled",
    pending: 0,
  });
  const all = await api<Delivery[]>("/deliveries");
  expect(all.map(({ status }) => status)).toEqual(Array(9).fill("delivered"));
  expect(await json(await server.get(subscriptionsPath, app.token))).toMatchObject({ data: [{ id }] });
});
