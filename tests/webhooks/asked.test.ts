import { beforeEach, expect, test } from "bun:test";
import { hour, isoTime } from "../../src/domain/time.ts";
import { retrySchedule } from "../../src/webhooks/retry.ts";
import { event, publish, sendDue, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json, type TestApplication, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * What a person asks for is an attempt of its own: however often it is asked for, the retry schedule is what it was.
 */

const clock = new Clock();
const monotonic = new Clock(0);
let app: TestApplication;
let broadcaster = 0;
let tests = 0;
let failing = 500;

const receivers = [1, 2].map(() =>
  testReceiver(({ headers }) => {
    const isPoor = headers["onair-event-id"]?.startsWith("poor");
    return new Response(null, { status: isPoor ? failing : 204 });
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
let poorId = "";
/** Publishes what is never answered as it should be. */
async function publishPoor(): Promise<void> {
  await publish(server, kick(`poor-${app.id}`));
  await settled(server);
  const answer = await server.get("/public/v1/events/deliveries", app.token);
  poorId = (await json<{ data: Delivery[] }>(answer)).data[0]?.id ?? "";
}
async function poor(): Promise<Delivery> {
  const answer = await server.get(`/public/v1/events/deliveries/${poorId}`, app.token);
  return (await json<{ data: Delivery }>(answer)).data;
}
/** Another event succeeds, so that neither the circuit opens nor the endpoint is disabled. */
let wells = 0;
async function well(): Promise<void> {
  await publish(server, kick(`well-${wells++}`));
  await settled(server);
}

beforeEach(async () => {
  failing = 500;
  app = await server.application({ webhook_url: receivers[0]?.url });
  broadcaster = users[tests++ % users.length]?.id ?? 0;
  await subscribe(server, app, ["kicks.gifted"], broadcaster);
});

const asks: Readonly<Record<string, (n: number) => Promise<{ readonly status: number }>>> = {
  "asks for the delivery": () =>
    server.get(`/public/v1/events/deliveries/${poorId}/retry`, app.token, { method: "POST" }),
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
  "somebody %s ten times: the schedule goes on as if that were not done",
  async (_, ask) => {
    await publishPoor();
    const first = Date.parse((await poor()).attempts[0]?.at ?? "");
    const due = (await poor()).next_attempt_at;
    expect(due).toBe(isoTime(first + 5_000));
    for (let n = 0; n < 10; n++) {
      expect((await ask(n)).status).toBeLessThan(300);
      await settled(server);
      await well();
      expect((await poor()).attempts.length).toBe(n + 2);
    }
    // No sooner than at its time, nor sooner than the shortest wait behind the last that was asked for.
    expect(await poor()).toMatchObject({ status: "pending", next_attempt_at: due });

    for (const [done, wait] of retrySchedule.entries()) {
      expect(await poor()).toMatchObject({ status: "pending", next_attempt_at: isoTime(clock.ms + wait) });
      await well();
      await pass(wait - 1);
      expect((await poor()).attempts.length).toBe(11 + done);
      await well();
      await pass(1);
      expect((await poor()).attempts.length).toBe(12 + done);
    }
    expect((await poor()).status).toBe("failed");
  },
);

test("what has failed for good is sent once for each time that it is asked for", async () => {
  failing = 410;
  await publishPoor();
  expect((await poor()).status).toBe("failed");
  failing = 500;
  await server.app.engine.enable(app.id);
  await asks["asks for the delivery"]?.(0);
  await settled(server);
  // Its schedule was not at its end.
  for (const wait of retrySchedule) {
    await well();
    await pass(wait);
  }
  expect(await poor()).toMatchObject({ status: "failed" });
  expect((await poor()).attempts.length).toBe(11);
  await asks["asks for the delivery"]?.(0);
  await settled(server);
  expect(await poor()).toMatchObject({ status: "failed", next_attempt_at: null });
  expect((await poor()).attempts.length).toBe(12);
});

test("a delivery is attempted no more than a hundred times at a person's request", async () => {
  await publishPoor();
  for (let n = 0; n < 99; n++) {
    await asks["asks for the delivery"]?.(0);
    await well();
  }
  expect((await asks["asks for the delivery"]?.(0))?.status).toBe(409);
  await asks["changes the URL"]?.(0);
  await settled(server);
  const all = receivers.flatMap(({ received }) => received);
  const mine = all.filter((one) => one.headers["onair-event-id"] === `poor-${app.id}`);
  expect(mine.length).toBe(100);
});
