import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { newId } from "../../src/domain/ids.ts";
import { day, hour, isoTime, minute } from "../../src/domain/time.ts";
import { deliveryLog } from "../support/delivery-log.ts";
import { userTokens } from "../support/oauth.ts";
import { event, publish, settled, subscribe, subscriptionsPath } from "../support/publishing.ts";
import { isOnPostgres, json } from "../support/server.ts";
import { loggedDeliveries, wholeLog } from "../support/store.ts";
import { until } from "../support/until.ts";

const path = "/public/v1/events/replays";
/** While it is set, the receiver does not answer. */
let gate: PromiseWithResolvers<void> | null = null;
const log = await deliveryLog(() => gate?.promise);
const { server, clock, receiver, sent, change, forgetBody } = log;

interface Replay {
  id: string;
  state: string;
  progress: number;
  matched: number;
  queued: number;
  skipped: Record<string, number>;
  finished_at: string | null;
}
interface Answer {
  data: Replay;
  message: string;
  code?: string;
  errors?: { field: string }[];
}
const noSkips = { body_not_kept: 0, subscription_deleted: 0, attempts_used_up: 0 };

beforeEach(() => {
  gate = null;
  clock.advance(day);
  receiver.received.length = 0;
});
afterEach(() => gate?.resolve());

/** The hour around now. */
const range = () => ({ from: isoTime(clock.ms - hour), to: isoTime(clock.ms + hour) });
async function create(body: object = {}, token = log.app.token) {
  const response = await server.post(path, { ...range(), ...body }, token);
  return { status: response.status, ...(await json<Answer>(response)) };
}
async function get(id: string): Promise<Replay> {
  return (await json<Answer>(await server.get(`${path}/${id}`, log.app.token))).data;
}
async function ended(id: string): Promise<Replay> {
  await until(async () => (await get(id)).state !== "running");
  return get(id);
}
/** Begins a replay of which 64 are due, as many as may be, and none is answered before `gate` is resolved. */
async function begun(body: object = {}): Promise<Replay> {
  gate = Promise.withResolvers();
  const { data } = await create(body);
  await until(async () => (await get(data.id)).queued >= 64);
  return data;
}
/** Has the engine take the next step of a replay; whether there was one. */
const step = (id: string) => server.app.store.replays.advance(id, clock.ms);
const ids = () => receiver.received.map(({ headers }) => headers["webhook-id"] ?? "");
describe("a replay", () => {
  test("sends the range again with the same ids and bodies, and says how far it is", async () => {
    await sent(10);
    const before = receiver.received.map(({ body, headers }) => [headers["webhook-id"], body]);
    const { status: code, data: made, message } = await create();
    expect([code, message]).toEqual([202, "OK"]);
    const done = await ended(made.id);
    const all = { subscription_id: null, broadcaster_user_id: null, status: null, type: null };
    const filter = { ...range(), ...all, dry_run: false };
    const counts = { progress: 1, matched: 10, queued: 10, skipped: noSkips };
    const times = { created_at: isoTime(clock.ms), finished_at: isoTime(clock.ms) };
    expect(done).toEqual({ id: made.id, state: "completed", ...filter, ...counts, ...times } as Replay);
    await receiver.arrived(20);
    await settled(server);
    const again = receiver.received.slice(10).map(({ body, headers }) => [headers["webhook-id"], body]);
    expect(again.sort()).toEqual(before.sort());
    expect(new Set(receiver.received.slice(10).map(({ headers }) => headers["onair-attempt"]))).toEqual(
      new Set(["2"]),
    );
  });

  test("takes only deliveries that match: time, subscription, status, type", async () => {
    await sent(2);
    clock.advance(minute);
    await sent(1, "channel.followed");
    log.status = 500;
    await sent(1, "channel.followed");
    const counts = async (body: object) => (await create({ dry_run: true, ...body })).data.matched;
    const at = isoTime(clock.ms);
    for (const [body, count] of [
      [{}, 4],
      [{ from: at }, 2],
      [{ to: at }, 2],
      [{ subscription_id: log.subscriptions[0] }, 2],
      [{ type: "channel.followed" }, 2],
      [{ type: "channel.followed", status: "delivered" }, 1],
      [{ status: "pending" }, 1],
      [{ status: "failed" }, 0],
      [{ broadcaster_user_id: 1001 }, 4],
      [{ broadcaster_user_id: 1002 }, 0],
      [{ from: isoTime(clock.ms - day), to: isoTime(clock.ms - hour) }, 0],
    ] as const) {
      expect([body, await counts(body)]).toEqual([body, count]);
    }
  });

  test("of missed deliveries sends all that was not delivered, once", async () => {
    // One at a time: of two that are in progress, the second may be answered when the first has disabled the endpoint.
    for (let i = 0; i < 2; i++) {
      log.status = 410;
      await sent(1);
      log.status = 204;
      await server.app.engine.enable(log.app.id);
    }
    await sent(3);
    expect((await create({ status: "failed", dry_run: true })).data.matched).toBe(2);
    const missed = ids().slice(0, 2);
    const { data: made } = await create({ status: "missed" });
    expect(made).toMatchObject({ status: "missed" });
    expect(await ended(made.id)).toMatchObject({ matched: 2, queued: 2 });
    await receiver.arrived(7);
    expect(ids().slice(5).sort()).toEqual(missed.sort());
    await settled(server);
    const { data: again } = await create({ status: "missed" });
    expect(await ended(again.id)).toMatchObject({ matched: 0, queued: 0 });
  });

  test("since the last failure begins where the endpoint broke, also after it has recovered", async () => {
    const none = await server.application({ webhook_url: receiver.url });
    expect(await create({ from: undefined, since: "last_failure" }, none.token)).toMatchObject({
      status: 409,
      code: "conflict",
    });
    log.status = 410;
    const failedAt = clock.ms;
    await sent(1);
    clock.advance(hour);
    log.status = 204;
    await server.app.engine.enable(log.app.id);
    await sent(1);
    const wanted = { from: undefined, to: undefined, since: "last_failure", status: "missed" };
    const { status, data: made } = await create(wanted);
    expect(status).toBe(202);
    expect(made).toMatchObject({ from: isoTime(failedAt - 5 * minute), to: isoTime(clock.ms) });
    expect(await ended(made.id)).toMatchObject({ matched: 1, queued: 1 });
    expect(await create({ since: "last_failure" })).toMatchObject({ status: 400 });
    expect(await create({ from: undefined })).toMatchObject({ status: 400 });
  });

  test("since a failure longer ago than the longest range begins with that range", async () => {
    log.status = 410;
    await sent(1);
    clock.advance(40 * day);
    log.status = 204;
    await server.app.engine.enable(log.app.id);
    const { client_id, client_secret } = log.app;
    const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
    const answer = await server.get("/oauth/token", undefined, { method: "POST", body });
    const { access_token: token } = await json<{ access_token: string }>(answer);
    const made = await create({ from: undefined, to: undefined, since: "last_failure" }, token);
    expect(made).toMatchObject({
      status: 202,
      data: { from: isoTime(clock.ms - 31 * day), to: isoTime(clock.ms) },
    });
  });

  test.skipIf(isOnPostgres)("skips deliveries that cannot be sent again, and says why", async () => {
    await sent(3);
    await sent(1, "channel.followed");
    const [one = "", two = ""] = ids();
    await forgetBody(one);
    await change("UPDATE deliveries SET attempts = 100 WHERE id = ?", two);
    await server.get(`${subscriptionsPath}?id=${log.subscriptions[1]}`, log.app.token, { method: "DELETE" });
    const { data: made } = await create();
    expect(await ended(made.id)).toMatchObject({
      matched: 4,
      queued: 1,
      skipped: { body_not_kept: 1, subscription_deleted: 1, attempts_used_up: 1 },
    });
    await receiver.arrived(5);
    await settled(server);
    expect(receiver.received.length).toBe(5);
  });

  test("as a dry run counts at once and sends nothing", async () => {
    await sent(5);
    const { data: counted } = await create({ dry_run: true });
    expect(counted).toMatchObject({ state: "completed", matched: 5, queued: 5, dry_run: true } as object);
    await settled(server);
    expect(receiver.received.length).toBe(5);
  });

  test("waits while many are due: a new event is sent before deliveries that it has not queued", async () => {
    await sent(100);
    const made = await begun();
    expect(await step(made.id)).toBe(false);
    expect(await get(made.id)).toMatchObject({ state: "running", queued: 64 });
    await publish(server, event("kicks.gifted", { id: `new-${log.app.id}` }));
    gate?.resolve();
    await receiver.arrived(100 + 100 + 1);
    const place = receiver.received.findIndex(
      ({ headers }) => headers["onair-event-id"] === `new-${log.app.id}`,
    );
    expect(place).toBeLessThanOrEqual(100 + 64);
    expect(await ended(made.id)).toMatchObject({ state: "completed", queued: 100 });
  });

  test("is ended by DELETE: queued deliveries are sent, and no more", async () => {
    await sent(100);
    const made = await begun();
    const cancel = () => server.get(`${path}/${made.id}`, log.app.token, { method: "DELETE" });
    const canceled = await cancel();
    expect([canceled.status, await canceled.text()]).toEqual([204, ""]);
    gate?.resolve();
    await receiver.arrived(100 + 64);
    await settled(server);
    expect(await step(made.id)).toBe(false);
    const replay = await get(made.id);
    expect(replay).toMatchObject({ state: "canceled", queued: 64, finished_at: isoTime(clock.ms) });
    expect(replay.progress).toBeLessThan(1);
    expect(receiver.received.length).toBe(100 + 64);
    expect((await cancel()).status).toBe(204);
  });
});

test("a replay waits for an endpoint that was disabled meanwhile, goes on when it is enabled, and ends after 7 days", async () => {
  await sent(90);
  const made = await begun();
  log.status = 410;
  gate?.resolve();
  await settled(server);
  expect(await step(made.id)).toBe(false);
  const waiting = await get(made.id);
  expect(waiting.state).toBe("running");
  expect(waiting.queued).toBeLessThan(90);
  log.status = 204;
  await server.app.engine.enable(log.app.id);
  expect(await ended(made.id)).toMatchObject({ state: "completed", queued: 90 });
  await settled(server);

  const stuck = await begun();
  clock.advance(7 * day);
  expect((await ended(stuck.id)).state).toBe("canceled");
});

test.each([
  [{ disabled: true }, { disabled: false }],
  [{ webhook_url: null }, { webhook_url: receiver.url }],
  [{ delivery: "stream" }, { delivery: "webhook" }],
])("a replay waits while its application is not sent anything, as after %j", async (change, undo) => {
  await sent(90);
  const made = await begun();
  const patch = (body: object) => server.admin("PATCH", `/admin/v1/applications/${log.app.id}`, body);
  expect((await patch(change)).status).toBe(200);
  gate?.resolve();
  await settled(server);
  // What arrived once, and would not be sent now, stays what it is.
  expect(await step(made.id)).toBe(false);
  const delivered = { ...wholeLog, application_id: log.app.id, status: "delivered" } as const;
  const kept = await loggedDeliveries(server.app.store, delivered);
  expect(kept.length).toBeGreaterThanOrEqual(90 - 64);
  expect((await patch(undo)).status).toBe(200);
  expect(await ended(made.id)).toMatchObject({ state: "completed", queued: 90 });
  await receiver.arrived(90 + 90 - 64);
});

// `inputs.test.ts` has the faults of the body.
describe("is refused", () => {
  test.each<[string, () => object, string]>([
    ["that ends before it begins", () => ({ to: isoTime(clock.ms - 2 * hour) }), "to"],
    ["of a subscription that is not there", () => ({ subscription_id: newId() }), "subscription_id"],
  ])("one %s", async (_, body, field) => {
    const { status: code, code: error, errors } = await create(body());
    expect([code, error, errors?.map((one) => one.field)]).toEqual([400, "invalid_parameter", [field]]);
  });

  test("one beside another that could send the same, which it names; others and dry runs may run", async () => {
    await sent(100);
    const first = await begun({ subscription_id: log.subscriptions[0] });
    for (const body of [{}, { subscription_id: log.subscriptions[0] }, { type: "channel.followed" }]) {
      const { status: code, code: error, message } = await create(body);
      expect([code, error]).toEqual([409, "conflict"]);
      expect(message).toContain(first.id);
    }
    expect((await create({ dry_run: true })).status).toBe(202);
    const earlier = { from: isoTime(clock.ms - 3 * hour), to: range().from };
    expect((await create(earlier)).status).toBe(202);
  });

  test("one to an endpoint that is disabled; a dry run is not", async () => {
    log.status = 410;
    await sent(1);
    const { status: code, message } = await create();
    expect([code, message]).toEqual([409, expect.stringContaining("endpoint is disabled")]);
    expect((await create({ dry_run: true })).status).toBe(202);
  });
});

describe("another caller", () => {
  test("neither sees nor cancels the replay, nor replays the deliveries", async () => {
    await sent(3);
    const { data: made } = await create();
    await ended(made.id);
    const other = await server.application({ webhook_url: receiver.url });
    for (const method of ["GET", "DELETE"])
      expect((await server.get(`${path}/${made.id}`, other.token, { method })).status).toBe(404);
    expect(await json(await server.get(path, other.token))).toEqual({ data: [], message: "OK" });
    const { data: theirs } = await create({}, other.token);
    const seen = await server.get(`${path}/${theirs.id}`, other.token);
    expect((await json<Answer>(seen)).data.matched).toBe(0);
    expect((await create({ subscription_id: log.subscriptions[0] }, other.token)).status).toBe(400);
  });

  test("with the token of a user replays only events of that user", async () => {
    await subscribe(server, log.app, ["kicks.gifted"], 1002);
    await sent(2);
    await sent(1, "kicks.gifted", { broadcaster_user_id: 1002 });
    const { access_token } = await userTokens(server, log.app, { userId: 1002 });
    const { data: made } = await create({}, access_token);
    expect(await ended(made.id)).toMatchObject({ matched: 1 });
    const listed = async (token: string) =>
      (await json<{ data: Replay[] }>(await server.get(path, token))).data.map(({ id }) => id);
    await create({ dry_run: true });
    expect(await listed(access_token)).toEqual([made.id]);
    expect(await listed(log.app.token)).toHaveLength(2);
    expect((await create({ subscription_id: log.subscriptions[0] }, access_token)).status).toBe(400);
  });
});
