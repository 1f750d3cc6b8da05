import { expect, jest, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { createClient, stream } from "../../../src/client/onair.ts";
import { type ApiFault, startApiProxy } from "../../../src/dev/faults.ts";
import type { WelcomeFacts } from "../../../src/web/session.ts";
import { afterTests, afterThisTest } from "../../support/after-tests.ts";
import { scriptedFaults } from "../../support/dev.ts";
import { hasProxy, startPlainProxy } from "../../support/proxies.ts";
import { event, publish, subscribe } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { json, ownServer, testServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const server = await testServer();
await server.load("users", users);
const edgeWith = (script: Parameters<typeof scriptedFaults>[0]) => {
  const reported: string[] = [];
  const tell = (what: string, about: string) => void reported.push(`${what}: ${about}`);
  const proxy = startApiProxy({ host: "127.0.0.1", port: 0, plan: scriptedFaults(script), tell });
  afterTests(() => proxy.stop());
  proxy.connect({ url: server.publicUrl, tokens: server.app.store.tokens });
  return { url: proxy.url, reported };
};
const username = users[0]?.username;

test("without a fault, requests and answers are passed on unchanged", async () => {
  const { url, reported } = edgeWith({});
  const app = await server.application();
  const token = { authorization: `Bearer ${app.token}` };
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: app.client_id,
    client_secret: "wrong",
  });
  const requests: [string, RequestInit][] = [
    ["/public/v1/categories", {}],
    ["/public/v1/categories", { method: "HEAD" }],
    ["/public/v1/categories?limit=1e2", {}],
    [`/public/v1/users/${username}`, { headers: token }],
    [`/public/v1/users/${username}`, {}],
    ["/public/v1/users/search?query=r%C3%ADot&limit=2", { headers: token }],
    ["/public/v1/events/subscriptions", { method: "OPTIONS" }],
    ["/public/v1/events/subscriptions", { method: "PUT", headers: token }],
    ["/public/v1/events/subscriptions", { method: "POST", headers: token, body: "{" }],
    ["/oauth/token", { method: "POST", body: form }],
    ["/oauth/authorize?client_id=x", { redirect: "manual" }],
    ["/assets/profile-picture.png", {}],
    ["/nowhere/", {}],
  ];
  const own = ["date", "x-request-id", "ratelimit-remaining", "ratelimit-reset"];
  const shown = async (base: string, path: string, init: RequestInit) => {
    const answer = await fetch(base + path, init);
    const headers = [...answer.headers].filter(([name]) => !own.includes(name));
    const text = (await answer.text()).replace(/"request_id":"\w+"/, "");
    return { status: answer.status, headers, text };
  };
  for (const [path, init] of requests)
    expect([path, await shown(url, path, init)]).toEqual([path, await shown(server.publicUrl, path, init)]);
  expect(reported).toEqual([]);
});

test("429 and 503 have the form of the API, and Retry-After", async () => {
  const busy = (status: 429 | 503): ApiFault => ({ kind: "busy", status, retryAfterSeconds: 2 });
  const { url, reported } = edgeWith({ api: [busy(429), busy(503), busy(429)] });
  const first = await fetch(`${url}/public/v1/categories`);
  expect([first.status, first.headers.get("retry-after")]).toEqual([429, "2"]);
  expect(first.headers.get("access-control-allow-origin")).toBe("*");
  expect(await json<object>(first)).toEqual({
    message: "Too many requests; try again in 2 seconds",
    code: "rate_limited",
    errors: [],
    request_id: first.headers.get("x-request-id"),
  });
  const second = await fetch(`${url}/public/v1/categories`);
  expect([second.status, await json<object>(second)]).toMatchObject([503, { code: "unavailable" }]);
  const third = await fetch(`${url}/oauth/token`, { method: "POST", body: new URLSearchParams() });
  expect(await json<object>(third)).toMatchObject({
    error: "temporarily_unavailable",
    code: "rate_limited",
  });
  expect((await fetch(`${url}/public/v1/categories`)).status).toBe(200);
  expect(reported).toEqual([
    "429, again in 2 s: GET /public/v1/categories",
    "503, again in 2 s: GET /public/v1/categories",
    "429, again in 2 s: POST /oauth/token",
  ]);
});

test("pages and preflights have no faults", async () => {
  const fault: ApiFault = { kind: "busy", status: 503, retryAfterSeconds: 1 };
  const { url } = edgeWith({ api: [fault] });
  expect((await fetch(`${url}/docs`)).status).toBe(200);
  expect((await fetch(`${url}/public/v1/categories`, { method: "OPTIONS" })).status).toBe(204);
  expect((await fetch(`${url}/public/v1/categories`)).status).toBe(503);
});

test("a delayed answer is otherwise unchanged", async () => {
  const { url, reported } = edgeWith({ api: [{ kind: "slow", ms: 200 }] });
  const startedAt = performance.now();
  expect((await fetch(`${url}/public/v1/categories`)).status).toBe(200);
  expect(performance.now() - startedAt).toBeGreaterThan(190);
  expect(reported).toEqual(["slow by 0.2 s: GET /public/v1/categories"]);
});

test("a revoked token stays invalid, and others are not affected", async () => {
  const { url, reported } = edgeWith({ api: [{ kind: "revoked" }, { kind: "revoked" }] });
  const [mine, theirs] = [await server.application(), await server.application()];
  const get = async (base: string, token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${base}/public/v1/events/subscriptions`, { headers })).status;
  };
  expect(await get(url, mine.token)).toBe(401);
  expect(await get(server.publicUrl, mine.token)).toBe(401);
  expect(await get(server.publicUrl, theirs.token)).toBe(200);
  expect(await get(url, "nonsense")).toBe(401);
  expect(reported).toEqual(["its token is revoked: GET /public/v1/events/subscriptions"]);
  expect(reported.join()).not.toContain(mine.token);
});

test("a stream is cut off, and a client resumes it", async () => {
  const { url, reported } = edgeWith({ streams: [300, null] });
  const app = await server.application({ delivery: "stream" });
  await subscribe(server, app, ["channel.followed"]);
  const ids: string[] = [];
  let connections = 0;
  const stop = new AbortController();
  const onair = createClient({ url, clientId: app.client_id, clientSecret: app.client_secret });
  const options = { signal: stop.signal, connected: () => void connections++ };
  void (async () => {
    for await (const one of stream(onair, options)) if (one.type !== "gap") ids.push(one.delivery.id);
  })();
  await until(() => connections === 1);
  await publish(server, event("channel.followed"));
  await until(() => reported.length === 1);
  await publish(server, event("channel.followed"));
  await until(() => connections === 2 && ids.length === 2);
  expect(new Set(ids).size).toBe(2);
  expect(reported).toEqual(["cut off after 0.3 s: GET /public/v1/events/stream"]);
  stop.abort();
});

test("a stream that ended before its cut is not cut again", async () => {
  jest.useFakeTimers();
  afterThisTest(() => jest.useRealTimers());
  const data = new TextEncoder().encode(": hello\n\n");
  const breaking = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(data) })),
  });
  const reported: string[] = [];
  const plan = scriptedFaults({ streams: [200] });
  const proxy = startApiProxy({ host: "127.0.0.1", port: 0, plan, tell: (what) => void reported.push(what) });
  afterTests(() => proxy.stop());
  proxy.connect({ url: breaking.url.origin, tokens: server.app.store.tokens });
  const reader = (await fetch(`${proxy.url}/public/v1/events/stream`)).body?.getReader();
  await reader?.read();
  await breaking.stop(true);
  await reader?.read().catch(() => {});
  jest.advanceTimersByTime(200);
  expect(reported).toEqual([]);
});

test("before the platform has started the answer is 503", async () => {
  const proxy = startApiProxy({ host: "127.0.0.1", port: 0, plan: scriptedFaults({}), tell: () => {} });
  expect((await fetch(`${proxy.url}/public/v1/categories`)).status).toBe(503);
  await proxy.stop();
});

/** An address of this machine from which a connection looks like that of another one. */
const elsewhere = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

test.skipIf(!hasProxy("nginx"))(
  "a request of a reverse proxy does not pass as one of this machine",
  async () => {
    const known = { secrets: { admin_key: "onair_admin_x" }, query: "fox" } as WelcomeFacts;
    const welcome = { facts: async () => known, consoleCookie: async () => "", onInbox() {} };
    const { publicUrl, app } = await ownServer({ welcome });
    const proxy = startApiProxy({ host: "127.0.0.1", port: 0, plan: scriptedFaults({}), tell() {} });
    afterThisTest(() => proxy.stop());
    proxy.connect({ url: publicUrl, tokens: app.store.tokens });
    const also = 'proxy_http_version 1.1; proxy_set_header Connection "";';
    const nginx = await startPlainProxy("nginx", new URL(proxy.url).host, also);
    afterThisTest(nginx.stop);
    const answer = await fetch(`${nginx.url}/welcome/facts`, { headers: { "onair-page": "http" } });
    expect(await json<object>(answer)).toEqual({ ...known, secrets: null });
  },
);

test.skipIf(elsewhere === undefined)(
  "a request of another machine does not pass as one of this machine",
  async () => {
    const { secrets, ...shown } = { secrets: { admin_key: "onair_admin_x" }, query: "fox" };
    const known = { secrets, ...shown } as WelcomeFacts;
    const welcome = { facts: async () => known, consoleCookie: async () => "", onInbox() {} };
    const { publicUrl, app } = await ownServer({ welcome });
    const proxy = startApiProxy({ host: "0.0.0.0", port: 0, plan: scriptedFaults({}), tell() {} });
    afterThisTest(() => proxy.stop());
    proxy.connect({ url: publicUrl, tokens: app.store.tokens });
    const facts = async (host: string) => {
      const url = `http://${host}:${new URL(proxy.url).port}/welcome/facts`;
      return json<object>(await fetch(url, { headers: { "onair-page": "http" } }));
    };
    expect(await facts("127.0.0.1")).toEqual({ secrets, ...shown });
    expect(await facts(elsewhere ?? "")).toEqual({ secrets: null, ...shown });
  },
);
