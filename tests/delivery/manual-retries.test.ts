import { beforeEach, expect, test } from "bun:test";
import { retrySchedule } from "../../src/delivery/judge.ts";
import { type DeliveryStore, everything } from "../../src/domain/deliveries.ts";
import { hour, isoTime } from "../../src/domain/time.ts";
import { dispatching, ok } from "../support/dispatching.ts";
import { event, publish, sendDue, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json, type TestApplication, testDirectory, testServer } from "../support/server.ts";
import { changeStored, ownStore, subscriber } from "../support/store.ts";
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
const data = testDirectory();
const server = await testServer({ clock, monotonic, data, users });

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
  "a person %s three times: the retry schedule stays the same",
  async (_, ask) => {
    await publishRefused();
    const first = Date.parse((await refused()).attempts[0]?.at ?? "");
    const due = (await refused()).next_attempt_at;
    expect(due).toBe(isoTime(first + 5_000));
    for (let n = 0; n < 3; n++) {
      expect((await ask(n)).status).toBeLessThan(300);
      await settled(server);
      await publishAccepted();
      expect((await refused()).attempts.length).toBe(n + 2);
    }
    expect(await refused()).toMatchObject({ status: "pending", next_attempt_at: due });

    for (const [done, wait] of retrySchedule.slice(0, 3).entries()) {
      expect(await refused()).toMatchObject({ status: "pending", next_attempt_at: isoTime(clock.ms + wait) });
      await publishAccepted();
      await pass(wait - 1);
      expect((await refused()).attempts.length).toBe(4 + done);
      await publishAccepted();
      await pass(1);
      expect((await refused()).attempts.length).toBe(5 + done);
    }
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
  await changeStored(data, "UPDATE deliveries SET attempts = 99 WHERE id = ?", [refusedId]);
  expect((await asks["retries the delivery"]?.(0))?.status).toBeLessThan(300);
  await settled(server);
  await publishAccepted();
  expect((await asks["retries the delivery"]?.(0))?.status).toBe(409);
  await asks["changes the URL"]?.(0);
  await settled(server);
  const all = receivers.flatMap(({ received }) => received);
  const mine = all.filter((one) => one.headers["onair-event-id"] === `refused-${app.id}`);
  expect(mine.length).toBe(2);
});

test("a replay is told of a requested delivery that ends without an attempt", async () => {
  const { store } = await ownStore();
  const id = await subscriber(store);
  let isSubscribed = true;
  const claim: DeliveryStore["claim"] = async (...args) => {
    const claimed = await store.deliveries.claim(...args);
    return { ...claimed, due: claimed.due.map((due) => ({ ...due, isSubscribed })) };
  };
  const reported: string[] = [];
  const one = dispatching(
    { ...store, deliveries: { ...store.deliveries, claim } },
    { send: async () => ok, requestRecorded: (applicationId) => reported.push(applicationId) },
  );
  await one.publish("e1");
  await one.settled();
  isSubscribed = false;
  await one.store.deliveries.retry(everything, one.sent[0]?.id ?? "", one.now());
  await until(() => reported.length > 0);
  expect([reported, one.sent.length]).toEqual([[id], 1]);
  await one.stop();
});
