import { beforeEach, describe, expect, test } from "bun:test";
import { day, hour, minute, second } from "../../src/domain/time.ts";
import { verify } from "../../src/webhooks/signature.ts";
import { afterTests, afterThisTest } from "../support/after-tests.ts";
import {
  event,
  publish,
  publishAll,
  sendDue,
  settled,
  subscribe,
  subscriptionsPath,
} from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver, type Received, type Receiver, testReceiver } from "../support/receiver.ts";
import { Clock, json, startServer, type TestApplication, testDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

const clock = new Clock();
const monotonic = new Clock(0);
const data = testDirectory();
const receiver = testReceiver(() => new Response("no", { status }));
let server = await startServer({ clock, monotonic, data, users });
afterTests(() => server.stop());
let app: TestApplication;
let status = 204;
/** Another one for each test, so that the applications of earlier ones get nothing. */
let broadcaster = 0;
let tests = 0;
const kick = (more: object = {}) => event("kicks.gifted", { broadcaster_user_id: broadcaster, ...more });

/** Time goes by: both clocks move, and what is due by then is sent. */
async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  monotonic.advance(ms);
  await sendDue(server, app);
}
const endpoint = () => server.app.store.endpoints.find(app.id);
const waiting = async () =>
  (await server.app.store.deliveries.pending()).filter(({ application_id }) => application_id === app.id);

beforeEach(async () => {
  broadcaster = users[tests++ % users.length]?.id ?? 0;
  app = await subscribedTo(receiver);
  status = 204;
  receiver.received.length = 0;
});
/** An application whose webhook is this receiver. */
async function subscribedTo({ url }: Receiver): Promise<TestApplication & { subscription: string }> {
  const other = await server.application({ webhook_url: url });
  const [subscription = ""] = await subscribe(server, other, ["kicks.gifted"], broadcaster);
  return { ...other, subscription };
}

/** A first failure, and then time until the endpoint is disabled, with a restart on the way. */
async function failForADay(): Promise<void> {
  status = 500;
  await publish(server, kick());
  await settled(server);
  await pass(5 * minute);
  await server.stop();
  server = await startServer({ clock, monotonic, data });
  for (let passed = 0; passed < 24; passed++) {
    await publish(server, kick());
    await pass(hour);
  }
}

describe("an endpoint that fails everything", () => {
  test("is disabled after 24 hours, on a clock that goes on across a restart", async () => {
    status = 500;
    await publish(server, kick());
    // A server that has just started may not own the endpoint yet.
    await receiver.arrived(1);
    await settled(server);
    expect(await endpoint()).toMatchObject({ failing_since: clock.ms, failures: 1, disabled_at: null });
    const since = clock.ms;
    await failForADay();
    expect(await endpoint()).toMatchObject({ failing_since: since, disabled_reason: "failing" });
    expect(((await endpoint())?.disabled_at ?? 0) - since).toBeGreaterThanOrEqual(24 * hour);
  });

  test("gets nothing while it is disabled; what is published is kept and delivered when it is enabled", async () => {
    await failForADay();
    const before = receiver.received.length;
    status = 204;
    for (let i = 0; i < 20; i++) await publish(server, kick({ id: `${app.id}-${i}` }));
    await pass(hour);
    expect(receiver.received.length).toBe(before);
    await server.app.engine.enable(app.id);
    await settled(server);
    const ids = new Set(receiver.received.slice(before).map(({ headers }) => headers["onair-event-id"]));
    for (let i = 0; i < 20; i++) expect(ids).toContain(`${app.id}-${i}`);
    expect(await waiting()).toEqual([]);
    expect(await endpoint()).toMatchObject({ failing_since: null, disabled_at: null });
  });

  test("loses what it did not fetch within three days of being disabled", async () => {
    await failForADay();
    await publish(server, kick());
    clock.advance(73 * hour);
    const retention = { deliveredMs: 1e12, failedMs: 1e12, bodiesMs: 1e12 };
    while (!(await server.app.store.retention.prune(retention, clock.ms))) {}
    expect(await waiting()).toEqual([]);
  });

  test("is tried anew when its application gets another URL", async () => {
    await failForADay();
    await publish(server, kick());
    const other = ownReceiver();
    afterThisTest(() => settled(server));
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: other.url });
    await other.arrived(1);
    expect(await endpoint()).toMatchObject({ disabled_at: null, failing_since: null });
  });
});

test("410 disables an endpoint at once, and gives up the delivery that was answered so", async () => {
  status = 410;
  await publishAll(server, [kick()]);
  await settled(server);
  expect(await endpoint()).toMatchObject({ disabled_reason: "gone", last_failure_status: 410 });
  await publish(server, kick());
  await pass(hour);
  expect(receiver.received.length).toBe(1);
});

test("a clock that is set a day ahead disables nobody, nor one that is set back", async () => {
  status = 500;
  await publish(server, kick());
  await settled(server);
  clock.advance(24 * hour);
  await sendDue(server, app);
  expect(await endpoint()).toMatchObject({ failures: 2, disabled_at: null });
  expect(clock.ms - ((await endpoint())?.failing_since ?? 0)).toBeLessThan(minute);
  clock.advance(-25 * hour);
  status = 204;
  const before = receiver.received.length;
  await publish(server, kick());
  await receiver.arrived(before + 1);
});

describe("retries that got their time from a clock that was a year ahead", () => {
  /** A failure on that clock. */
  async function failAhead(): Promise<void> {
    status = 500;
    clock.advance(365 * day);
    await publish(server, kick());
    await settled(server);
    expect((await waiting())[0]?.due_at).toBeGreaterThan(clock.ms);
    status = 204;
    receiver.received.length = 0;
  }

  test("are due when it is set back", async () => {
    await failAhead();
    clock.advance(-365 * day);
    await publish(server, kick());
    await receiver.arrived(2);
    await settled(server);
    expect(await waiting()).toEqual([]);
  });

  test("are due when the server is started on the right clock", async () => {
    await failAhead();
    await server.stop();
    clock.advance(-365 * day);
    server = await startServer({ clock, monotonic, data });
    await receiver.arrived(1);
    await settled(server);
    expect(await waiting()).toEqual([]);
  });

  test("others keep theirs: a retry of tomorrow is not due because the clock was set", async () => {
    status = 500;
    await publish(server, kick());
    await settled(server);
    const due = await waiting();
    await server.stop();
    clock.advance(-day);
    server = await startServer({ clock, monotonic, data });
    expect(due).toHaveLength(1);
    expect(await waiting()).toEqual(due);
    clock.advance(day);
  });
});

test("five failures in a row stop everything but a probe, and no attempts are used up by waiting", async () => {
  status = 500;
  const events = Array.from({ length: 40 }, () => kick());
  await publishAll(server, events);
  await settled(server);
  const tried = receiver.received.length;
  expect(tried).toBeLessThan(20); // what had begun when the circuit opened, and no more
  await pass(3 * second);
  expect(receiver.received.length).toBe(tried);
  await pass(3 * second);
  expect(receiver.received.length).toBe(tried + 1);
  status = 204;
  await pass(minute);
  await pass(10 * minute);
  const numbers = receiver.received.map(({ headers }) => Number(headers["onair-attempt"]));
  expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(40);
  expect(Math.max(...numbers)).toBeLessThanOrEqual(3);
  expect(await waiting()).toEqual([]);
});

test("an endpoint that asks for patience is left alone as a whole", async () => {
  const busy = ownReceiver(() => new Response(null, { status: 429, headers: { "retry-after": "60" } }));
  await subscribedTo(busy);
  await publish(server, kick());
  await settled(server);
  await publish(server, kick());
  await receiver.arrived(2);
  await settled(server);
  expect(busy.received.length).toBe(1);
});

describe("a pause that an endpoint has asked for, as the store has it", () => {
  const patience = () => new Response(null, { status: 429, headers: { "retry-after": "3600" } });
  const state = (id: string) => server.app.store.endpoints.find(id);

  test("is over where a replica of an earlier version enabled the endpoint, which leaves it there", async () => {
    const busy = ownReceiver((_, number) =>
      number === 1 ? patience() : new Response(null, { status: 204 }),
    );
    const { id } = await subscribedTo(busy);
    await publish(server, kick());
    await settled(server);
    const paused = await state(id);
    expect(paused?.paused_until).toBeGreaterThan(clock.ms + 50 * minute);
    if (paused)
      await server.app.store.deliveries.record([], [{ ...paused, failing_since: null, failures: 0 }]);
    await server.stop();
    server = await startServer({ clock, monotonic, data });
    await publish(server, kick());
    await busy.arrived(2);
    await settled(server);
  });

  test("moves with the clock, also where a success of an attempt under way came after it", async () => {
    const held = Promise.withResolvers<Response>();
    const busy = ownReceiver((_, number) => (number === 1 ? held.promise : patience()));
    const { id } = await subscribedTo(busy);
    await publish(server, kick());
    await busy.arrived(1);
    await publish(server, kick());
    await busy.arrived(2);
    await until(async () => (await state(id))?.paused_until != null);
    held.resolve(new Response(null, { status: 204 }));
    await until(async () => (await state(id))?.failing_since === null);
    const left = async () => ((await state(id))?.paused_until ?? 0) - clock.ms;
    const before = await left();
    clock.advance(12 * hour);
    await sendDue(server, app);
    await until(async () => (await left()) === before);
    clock.advance(-12 * hour);
    await sendDue(server, app);
  });
});

test("where a subscription is removed while its deliveries wait, none of them is sent", async () => {
  const release = Promise.withResolvers<Response>();
  const slow = ownReceiver(() => release.promise);
  const other = await subscribedTo(slow);
  const waiting = Array.from({ length: 50 }, () => kick());
  await publishAll(server, waiting);
  await slow.arrived(8);
  const path = `${subscriptionsPath}?id=${other.subscription}`;
  expect((await server.get(path, other.token, { method: "DELETE" })).status).toBe(204);
  release.resolve(new Response(null, { status: 204 }));
  await settled(server);
  expect(slow.received.length).toBe(8);
});

describe("while an attempt is under way", () => {
  let held: PromiseWithResolvers<Response>;
  let slow: Receiver;
  let other: Awaited<ReturnType<typeof subscribedTo>>;
  beforeEach(async () => {
    held = Promise.withResolvers();
    slow = ownReceiver((_, number) => (number === 1 ? held.promise : new Response(null, { status: 204 })));
    afterThisTest(() => settled(server));
    other = await subscribedTo(slow);
    await publish(server, kick());
    await slow.arrived(1);
  });
  const pendingOf = async () =>
    (await server.app.store.deliveries.pending()).filter(({ application_id }) => application_id === other.id);

  test.each([204, 500])(
    "its subscription is removed, and it ends with %d: nothing more is sent",
    async (code) => {
      await server.get(`${subscriptionsPath}?id=${other.subscription}`, other.token, { method: "DELETE" });
      held.resolve(new Response(null, { status: code }));
      await settled(server);
      await pass(minute);
      expect(slow.received.length).toBe(1);
      expect(await pendingOf()).toEqual([]);
    },
  );

  test.each([204, 500])(
    "its application is removed, and it ends with %d: nothing more is sent",
    async (code) => {
      const removed = await server.admin("DELETE", `/admin/v1/applications/${other.id}`);
      expect(removed.status).toBe(204);
      held.resolve(new Response(null, { status: code }));
      await settled(server);
      await pass(minute);
      expect(slow.received.length).toBe(1);
      expect(await pendingOf()).toEqual([]);
    },
  );

  test("its secret is rotated away: the next attempt is signed with the new one", async () => {
    const path = `/admin/v1/applications/${other.id}/webhook-secret`;
    const rotated = await server.admin("POST", path, { overlap_seconds: 0 });
    expect(rotated.status).toBe(200);
    const { webhook_secret } = await json<{ webhook_secret: string }>(rotated);
    held.resolve(new Response(null, { status: 500 }));
    await settled(server);
    clock.advance(10 * second);
    monotonic.advance(10 * second);
    await sendDue(server, other);
    const [first, next] = await slow.arrived(2);
    const verdict = ({ headers, body }: Received, secret: string) =>
      verify({
        id: headers["webhook-id"],
        timestamp: headers["webhook-timestamp"],
        signature: headers["webhook-signature"],
        body,
        secret,
        now: clock.ms,
      });
    if (!first || !next) throw new Error("nothing arrived");
    expect(verdict(first, other.webhook_secret)).toBe("ok");
    expect(verdict(next, other.webhook_secret)).toBe("no_matching_signature");
    expect(verdict(next, webhook_secret)).toBe("ok");
  });
});
