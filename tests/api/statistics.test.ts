import { expect, test } from "bun:test";
import { ApplicationTraffic } from "../../src/api/http/context.ts";
import { newId } from "../../src/domain/ids.ts";
import { hour, minute } from "../../src/domain/time.ts";
import { expectFailure, run } from "../support/process.ts";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { adminKey, Clock, json, startServer, testDirectory, testServer } from "../support/server.ts";

interface Counts {
  delivered: number;
  retried: number;
  failed: number;
  streamed: number;
  arrival_p50_ms: number | null;
}
interface Statistics {
  from: string;
  to: string;
  step_seconds: number;
  deliveries: (Counts & { at: string })[];
  totals: Counts;
  requests: { requests: number; client_errors: number; p99_ms: number | null }[];
  applications: { application_id: string; name: string | null; requests: number; rate_limited: number }[];
  operations: { listener: string; operation: string; requests: number; client_errors: number }[];
}

const sum = (steps: readonly Counts[], name: "delivered" | "retried" | "failed") =>
  steps.reduce((total, step) => total + step[name], 0);

test("counts of outcomes and of requests outlive the server, for each application and for all", async () => {
  const data = testDirectory();
  const clock = new Clock();
  const first = await startServer({ data, clock });
  await first.load("users", users);
  let status = 204;
  const receiver = testReceiver(() => new Response(null, { status }));
  const app = await first.application({ webhook_url: receiver.url });
  const streaming = await first.application({ delivery: "stream" });
  const idle = await first.application({ webhook_url: receiver.url });
  for (const one of [app, streaming]) await subscribe(first, one, ["channel.followed"]);
  for (const answer of [204, 204, 500, 410]) {
    status = answer;
    await receiver.next(() => publish(first, event("channel.followed")));
    await settled(first);
  }
  expect((await first.get("/public/v1/users/nobody", app.token)).status).toBe(404);
  expect((await first.get("/no/such/path")).status).toBe(404);
  // What is counted is stored every ten seconds, and at the end.
  await first.app.stop();
  const server = await testServer({ data, clock });
  const own = async (token: string, range = "hour") =>
    (
      await json<{ data: Statistics }>(
        await server.get(`/public/v1/application/statistics?range=${range}`, token),
      )
    ).data;

  const compressed = await server.get("/public/v1/application/statistics", app.token, {
    headers: { "accept-encoding": "gzip" },
  });
  expect(compressed.headers.get("content-encoding")).toBe("gzip");

  const shown = await own(app.token);
  expect(shown).toMatchObject({
    step_seconds: 60,
    from: new Date(clock.now() - hour + minute).toISOString(),
    to: new Date(clock.now() + minute).toISOString(),
  });
  expect(shown.deliveries).toHaveLength(60);
  expect(shown.totals).toMatchObject({ delivered: 2, retried: 1, failed: 1, streamed: 0 });
  expect(shown.totals.arrival_p50_ms).not.toBeNull();
  expect(shown.deliveries.at(-1)).toMatchObject({ delivered: 2, retried: 1, failed: 1 });
  for (const name of ["delivered", "retried", "failed"] as const) {
    expect(sum(shown.deliveries, name)).toBe(shown.totals[name]);
  }
  expect((await own(streaming.token)).totals).toMatchObject({ delivered: 0, streamed: 4 });
  expect((await own(idle.token)).totals).toMatchObject({ delivered: 0, failed: 0, arrival_p50_ms: null });
  const [day, week] = [await own(app.token, "day"), await own(app.token, "week")];
  expect([day.deliveries.length, day.step_seconds, day.totals.delivered]).toEqual([24, 3_600, 2]);
  expect([week.deliveries.length, week.step_seconds, week.totals.delivered]).toEqual([168, 3_600, 2]);

  const all = async (query = "") =>
    json<Statistics>(await server.admin("GET", `/admin/v1/statistics${query}`));
  const everything = await all();
  expect(everything.totals).toMatchObject({ delivered: 2, failed: 1, streamed: 4 });
  const of = (listener: string, operation: string) =>
    everything.operations.find((one) => one.listener === listener && one.operation === operation);
  expect(of("public", "getUser")).toMatchObject({ requests: 1, client_errors: 1 });
  expect(of("public", "other")).toMatchObject({ requests: 1, client_errors: 1 });
  expect(of("admin", "publishEvents")).toMatchObject({ requests: 4, client_errors: 0 });
  expect(everything.requests).toHaveLength(60);
  expect(everything.requests.at(-1)?.p99_ms).toBeGreaterThan(0);
  const total = everything.operations.reduce((sum, { requests }) => sum + requests, 0);
  expect(everything.requests.at(-1)?.requests).toBe(total);
  const ofWeek = await all("?range=week");
  expect(ofWeek.operations.reduce((sum, { requests }) => sum + requests, 0)).toBe(total);
  expect(await all(`?application_id=${app.id}`)).toMatchObject({
    totals: shown.totals,
    requests: [],
    operations: [],
  });

  const unknown = await server.admin("GET", `/admin/v1/statistics?application_id=${newId()}`);
  expect([unknown.status, await json<object>(unknown)]).toMatchObject([
    400,
    { errors: [{ in: "query", field: "application_id", message: "is not an application" }] },
  ]);
  expect((await all(`?application_id=${idle.id}`)).totals).toMatchObject({ delivered: 0 });

  // After an hour the minutes are out of sight, and the day still has them.
  clock.advance(hour + minute);
  expect((await own(app.token)).totals.delivered).toBe(0);
  expect((await own(app.token, "day")).totals.delivered).toBe(2);
});

test("the outcome of an attempt that ends while the server stops is counted", async () => {
  const data = testDirectory();
  const clock = new Clock();
  const first = await startServer({ data, clock, users });
  const answered = Promise.withResolvers<void>();
  const receiver = testReceiver(() => answered.promise.then(() => new Response(null, { status: 204 })));
  const app = await first.application({ webhook_url: receiver.url });
  await subscribe(first, app, ["channel.followed"]);
  await receiver.next(() => publish(first, event("channel.followed")));
  const stopped = first.app.stop();
  // Time for everything that does not wait for the attempt to stop before it.
  await Bun.sleep(200);
  answered.resolve();
  await stopped;
  const server = await testServer({ data, clock });
  const { totals } = await json<Statistics>(await server.admin("GET", "/admin/v1/statistics"));
  expect(totals).toMatchObject({ delivered: 1, retried: 0, failed: 0 });
});

test("the applications with the most requests are shown with those beyond their rate limit, across a restart", async () => {
  const data = testDirectory();
  const clock = new Clock();
  const first = await startServer({ data, clock });
  const quiet = await first.application({ name: "Quiet" });
  const flooding = await first.application({ name: "Flooding", rate_limit: 3 });
  const many = async (server: { get: typeof first.get }, token: string, count: number) => {
    for (let n = 0; n < count; n++) await server.get("/public/v1/users/nobody", token);
  };
  await many(first, flooding.token, 5);
  await many(first, quiet.token, 1);
  await first.app.stop();
  const second = await startServer({ data, clock });
  await many(second, quiet.token, 2);
  await second.app.stop();
  const server = await testServer({ data, clock });
  const { applications } = await json<Statistics>(await server.admin("GET", "/admin/v1/statistics"));
  expect(applications).toEqual([
    { application_id: flooding.id, name: "Flooding", requests: 5, rate_limited: 2 },
    { application_id: quiet.id, name: "Quiet", requests: 3, rate_limited: 0 },
  ]);
  const narrow = await server.admin("GET", `/admin/v1/statistics?application_id=${quiet.id}`);
  expect((await json<Statistics>(narrow)).applications).toEqual([]);
  const env = { ONAIR_ADMIN_KEY: adminKey };
  const listed = await run(["apps", "list", "--by", "requests", "--url", server.adminUrl], { env });
  expect([listed.code, listed.stderr]).toEqual([0, ""]);
  expect(listed.stdout).toMatch(new RegExp(`${flooding.id} +5 +2 +Flooding\\n${quiet.id} +3 +0 +Quiet`));
  const paged = await run(["apps", "list", "--by", "requests", "--all", "--url", server.adminUrl], { env });
  expectFailure(paged, 2, "--by");
});

const named = (n: number) => ({ id: `id${n}`, name: `Application ${n}` });

test("the 20 applications with the most requests of late are counted, and no count that is shown ever falls", () => {
  const clock = new Clock();
  const traffic = new ApplicationTraffic(clock.now);
  let sum = 0;
  let before = new Map<string, number>();
  const count = (n: number, times: number, status = 200) => {
    for (let i = 0; i < times; i++) traffic.count(named(n), status);
    sum += times;
    const shown = traffic.counts();
    expect(shown.length).toBeLessThanOrEqual(21);
    const now = new Map(shown.map(({ id, requests }) => [id, requests]));
    for (const [id, requests] of now) expect(requests).toBeGreaterThanOrEqual(before.get(id) ?? 0);
    before = now;
  };
  for (let n = 0; n < 30; n++) count(n, 2);
  expect(traffic.counts().reduce((total, { requests }) => total + requests, 0)).toBe(sum);
  expect(traffic.counts().at(-1)).toEqual({ id: "other", name: "other", requests: 20, limited: 0 });
  // One of the others floods: it gets the place of one with fewer requests within a minute.
  count(29, 500, 429);
  clock.advance(minute);
  count(29, 100, 429);
  const ofFlooder = traffic.counts().find(({ id }) => id === "id29");
  expect(ofFlooder).toEqual({ ...named(29), requests: 100, limited: 100 });
  expect(traffic.counts().at(-1)).toMatchObject({ requests: 520, limited: 500 });
  expect(traffic.counts()).toHaveLength(21);
});

test("applications with about as many requests do not alternate, and a changed name is a series of its own", () => {
  const clock = new Clock();
  const traffic = new ApplicationTraffic(clock.now);
  for (let round = 0; round < 5; round++) {
    for (let n = 0; n < 40; n++) for (let i = 0; i < 10 + (n % 3); i++) traffic.count(named(n), 200);
    clock.advance(minute);
  }
  const ids = traffic.counts().map(({ id }) => id);
  expect(ids).toEqual([...Array.from({ length: 20 }, (_, n) => `id${n}`), "other"]);
  traffic.count({ id: "id3", name: "Renamed" }, 200);
  expect(traffic.counts().filter(({ id }) => id === "id3")).toEqual([
    { id: "id3", name: "Renamed", requests: 1, limited: 0 },
  ]);
});
