import { beforeEach, expect, test } from "bun:test";
import { retrySchedule } from "../../src/delivery/judge.ts";
import { type DeliveryStore, everything } from "../../src/domain/deliveries.ts";
import { hour, isoTime } from "../../src/domain/time.ts";
import { dispatching, ok } from "../support/dispatching.ts";
import { event, publish, sendDue, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json, type TestApplication, testServer } from "../support/server.ts";
import { ownStore, subscriber } from "../support/store.ts";
import { until } from "../support/until.ts";

/*
 * An attempt at a developer's or operator's request is in addition to the retry schedule, which stays as it was.
 */

const clock = new Clock();
const monotonic = new Clock(0);
let app: TestApplication;
let broadcaster = 0;
let tests = 0;
let failing = 500;

const receivers = [1, 2].map(() =>
  testReceiver(({ headers }) => {
    const isRefused = headers["onair-event-id"]?.startsWith("refused");
    return new Response(null, { status: isRefused ? failing : 204 });
  }),
);
const server = await testServer({ clock, monotonic, users });

const kick = (id: string) => event("kicks.gifted", { id, broadcaster_user_id: broadcaster });

async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  monotonic.advance(ms);
  await sendDue(server, app);
}

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly next_attempt_at: string | null;
  readonly attempts: readonly { readonly at: string }[];
}
let refusedId = "";
/** Publishes an event that the receiver refuses. */
async function publishRefused(): Promise<void> {
  await publish(server, kick(`refused-${app.id}`));
  await settled(server);
  const answer = await server.get("/public/v1/events/deliveries", app.token);
  refusedId = (await json<{ data: Delivery[] }>(answer)).data[0]?.id ?? "";
}
async function refused(): Promise<Delivery> {
  const answer = await server.get(`/public/v1/events/deliveries/${refusedId}`, app.token);
  return (await json<{ data: Delivery }>(answer)).data;
}
let accepted = 0;
/** Publishes an event that the receiver accepts, so that the endpoint is neither paused nor disabled. */
async function publishAccepted(): Promise<void> {
  await publish(server, kick(`accepted-${accepted++}`));
  await settled(server);
}

beforeEach(async () => {
  failing = 500;
  app = await server.application({ webhook_url: receivers[0]?.url });
  broadcaster = users[tests++ % users.length]?.id ?? 0;
  await subscribe(server, app, ["kicks.gifted"], broadcaster);
});

const asks: Readonly<Record<string, (n: number) => Promise<{ readonly status: number }>>> = {
  "retries the delivery": () =>
    server.get(`/public/v1/events/deliveries/${refusedId}/retry`, app.token, { method: "POST" }),
  "changes the URL": (n) =>
    server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: receivers[(n + 1) % 2]?.url }),
  "enables the endpoint": () => server.admin("POST", `/admin/v1/applications/${app.id}/endpoint/enable`),
  "replays a range": async () => {
    const body = { from: isoTime(clock.ms - hour), to: isoTime(clock.ms + hour), status: "pending" };
    const made = await server.post("/public/v1/events/replays", body, app.token);
    const { id } = (await json<{ data: { id: string } }>(made)).data;
    await until(async () => {
      const answer = await server.get(`/public/v1/events/replays/${id}`, app.token);
      return (await json<{ data: { state: string } }>(answer)).data.state === "completed";
    });
    return made;
  },
};

test.each(Object.entries(asks))(
  "a person %s ten times: the retry schedule stays the same",
  async (_, ask) => {
    await publishRefused();
    const first = Date.parse((await refused()).attempts[0]?.at ?? "");
    const due = (await refused()).next_attempt_at;
    expect(due).toBe(isoTime(first + 5_000));
    for (let n = 0; n < 10; n++) {
      expect((await ask(n)).status).toBeLessThan(300);
      await settled(server);
      await publishAccepted();
      expect((await refused()).attempts.length).toBe(n + 2);
    }
    expect(await refused()).toMatchObject({ status: "pending", next_attempt_at: due });

    for (const [done, wait] of retrySchedule.entries()) {
      expect(await refused()).toMatchObject({ status: "pending", next_attempt_at: isoTime(clock.ms + wait) });
      await publishAccepted();
      await pass(wait - 1);
      expect((await refused()).attempts.length).toBe(11 + done);
      await publishAccepted();
      await pass(1);
      expect((await refused()).attempts.length).toBe(12 + done);
    }
    expect((await refused()).status).toBe("failed");
  },
);

test("a delivery that has failed for good is sent once for each manual retry", async () => {
  failing = 410;
  await publishRefused();
  expect((await refused()).status).toBe("failed");
  failing = 500;
  await server.app.engine.enable(app.id);
  await asks["retries the delivery"]?.(0);
  await settled(server);
  // The schedule goes on.
  for (const wait of retrySchedule) {
    await publishAccepted();
    await pass(wait);
  }
  expect(await refused()).toMatchObject({ status: "failed" });
  expect((await refused()).attempts.length).toBe(11);
  await asks["retries the delivery"]?.(0);
  await settled(server);
  expect(await refused()).toMatchObject({ status: "failed", next_attempt_at: null });
  expect((await refused()).attempts.length).toBe(12);
});

test("a delivery has at most a hundred attempts at a person's request", async () => {
  await publishRefused();
  for (let n = 0; n < 99; n++) {
    await asks["retries the delivery"]?.(0);
    await publishAccepted();
  }
  expect((await asks["retries the delivery"]?.(0))?.status).toBe(409);
  await asks["changes the URL"]?.(0);
  await settled(server);
  const all = receivers.flatMap(({ received }) => received);
  const mine = all.filter((one) => one.headers["onair-event-id"] === `refused-${app.id}`);
  expect(mine.length).toBe(100);
});

test("the dispatcher reports a manual retry once its result is on disk, and reports no other delivery", async () => {
  const { store } = await ownStore();
  const id = await subscriber(store);
  const reported: string[] = [];
  const one = dispatching(store, {
    send: async () => ok,
    requestRecorded: (applicationId) => reported.push(applicationId),
  });
  await one.publish("e1");
  await one.settled();
  const [delivery = ""] = one.sent.map(({ id }) => id);
  expect(reported).toEqual([]);
  await one.store.deliveries.retry(everything, delivery, one.now());
  await until(() => reported.length > 0);
  expect([reported, one.sent.length, await store.deliveries.pending()]).toEqual([[id], 2, []]);
  await one.stop();
});

test("the dispatcher also reports a requested delivery that ends without an attempt", async () => {
  const { store } = await ownStore();
  const id = await subscriber(store);
  const reported: string[] = [];
  let isRemoved = false;
  const claim: DeliveryStore["claim"] = async (...args) => {
    const claimed = await store.deliveries.claim(...args);
    return { ...claimed, due: claimed.due.map((one) => ({ ...one, isSubscribed: !isRemoved })) };
  };
  const changing = { ...store, deliveries: { ...store.deliveries, claim } };
  const one = dispatching(changing, {
    send: async () => ok,
    requestRecorded: (applicationId) => reported.push(applicationId),
  });
  await one.publish("e1");
  await one.settled();
  const [delivery = ""] = one.sent.map(({ id }) => id);
  isRemoved = true;
  await one.store.deliveries.retry(everything, delivery, one.now());
  await until(() => reported.length > 0);
  expect([reported, one.sent.length]).toEqual([[id], 1]);
  await one.stop();
});
