import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Connection, ConnectionAnswer, ConnectionRequest } from "../support/connection.ts";
import { StreamClient } from "../support/event-stream.ts";
import { event, publish, subscriptionsPath } from "../support/publishing.ts";
import { categories, channels, users } from "../support/real-data.ts";
import { Receiver } from "../support/receiver.ts";
import { startServer, type TestApplication, type TestServer } from "../support/server.ts";
import { connectionToEach, requestsByThread } from "../support/threads.ts";

/*
 * `onair serve --threads 3`: whatever a client is told by one thread holds on all of them. Each connection is served by
 * one thread, and these tests have one to each.
 */

const threads = 3;
const rounds = 20;

let server: TestServer;
let connections: readonly Connection[];
let app: TestApplication;

beforeAll(async () => {
  server = await startServer({ args: ["--threads", `${threads}`] });
  await server.load("users", users);
  await server.load("categories", categories);
  await server.load("channels", channels);
  app = await server.application();
  connections = await connectionToEach(server.app, threads);
});
afterAll(async () => {
  for (const connection of connections) connection.close();
  await server.stop();
});

/** The same request on every thread at once. */
function onEach(method: string, path: string, request?: ConnectionRequest): Promise<ConnectionAnswer[]> {
  return Promise.all(connections.map((connection) => connection.send(method, path, request)));
}

const statuses = async (path: string, token = app.token) =>
  (await onEach("GET", path, { token })).map(({ status }) => status);

const all = <T>(value: T): T[] => Array.from({ length: threads }, () => value);

const onThread = (i: number) => connections[i % threads] as Connection;

async function admin(method: string, path: string, body?: unknown): Promise<void> {
  const answer = await server.admin(method, `/admin/v1/${path}`, body);
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
}

const credentials = ({ client_id, client_secret }: TestApplication) => ({ client_id, client_secret });

test("connections are spread over the threads, and /metrics counts all of their requests", async () => {
  const before = await requestsByThread(server.app);
  await onEach("GET", "/public/v1/categories");
  const after = await requestsByThread(server.app);
  expect(after.map((count, i) => count - (before[i] ?? 0))).toEqual(all(1));
  const text = await (await fetch(`${server.app.adminUrl}/metrics`)).text();
  const [, total] = /_count\{listener="public"\} (\d+)/.exec(text) ?? [];
  expect(Number(total)).toBe(after.reduce((sum, count) => sum + count, 0));
});

test("an answer about everybody is the same on all threads", async () => {
  const paths = [
    "/public/v1/users/xqcow",
    "/public/v1/users/search?query=riot",
    "/public/v1/categories?limit=3",
    "/public/v1/categories/56",
    "/public/v1/events/types",
    "/public/v1/public-key",
    "/.well-known/oauth-authorization-server",
    "/openapi.json",
    "/docs",
  ];
  for (const path of paths) {
    const answers = await onEach("GET", path, { token: app.token });
    expect(answers.map(({ status }) => status)).toEqual(all(200));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(new Set(answers.map(({ headers }) => headers.get("etag"))).size).toBe(1);
  }
});

describe("what was acknowledged holds on every thread at once", () => {
  test("a user who is new, renamed and deleted", async () => {
    for (let i = 0; i < rounds; i++) {
      const path = (name: string) => `/public/v1/users/${name}`;
      const user = { username: `first${i}`, followers_count: i };
      await admin("PUT", `users/${9_000 + i}`, user);
      // Twice, because the first request has the thread keep its answer.
      for (let time = 0; time < 2; time++) expect(await statuses(path(`first${i}`))).toEqual(all(200));
      await admin("PUT", `users/${9_000 + i}`, { ...user, username: `then${i}` });
      expect(await statuses(path(`first${i}`))).toEqual(all(404));
      const renamed = await onEach("GET", path(`then${i}`), { token: app.token });
      for (const { text } of renamed) expect(text).toContain(`"followers_count":${i}`);
      await admin("PUT", `users/${9_000 + i}`, { ...user, username: `then${i}`, bio: "new" });
      for (const { text } of await onEach("GET", path(`then${i}`), { token: app.token })) {
        expect(text).toContain('"bio":"new"');
      }
      await admin("DELETE", `users/${9_000 + i}`);
      expect(await statuses(path(`then${i}`))).toEqual(all(404));
    }
  });

  test("a token that is made on one thread, and revoked on another", async () => {
    for (let i = 0; i < rounds; i++) {
      const form = new URLSearchParams({ grant_type: "client_credentials", ...credentials(app) });
      const made = await onThread(i).send("POST", "/oauth/token", { body: form });
      const { access_token: token } = JSON.parse(made.text) as { access_token: string };
      for (let time = 0; time < 2; time++) {
        expect(await statuses("/public/v1/users/xqcow", token)).toEqual(all(200));
      }
      const body = new URLSearchParams({ token, ...credentials(app) });
      expect((await onThread(i + 1).send("POST", "/oauth/revoke", { body })).status).toBe(200);
      expect(await statuses("/public/v1/users/xqcow", token)).toEqual(all(401));
      expect(await statuses(subscriptionsPath, token)).toEqual(all(401));
    }
  });

  test("an application that loses a scope, gets another limit, is disabled, enabled and deleted", async () => {
    const other = await server.application();
    const path = `applications/${other.id}`;
    const user = () => statuses("/public/v1/users/xqcow", other.token);
    expect(await user()).toEqual(all(200));
    await admin("PATCH", path, { rate_limit: 1_234 });
    const limited = await onEach("GET", "/public/v1/users/xqcow", { token: other.token });
    expect(limited.map(({ headers }) => headers.get("ratelimit-limit"))).toEqual(all("1234"));
    await admin("PATCH", path, { scopes: ["events:subscribe"] });
    expect(await user()).toEqual(all(403));
    await admin("PATCH", path, { scopes: ["users:read"] });
    expect(await user()).toEqual(all(200));
    await admin("PATCH", path, { disabled: true });
    expect(await user()).toEqual(all(401));
    await admin("PATCH", path, { disabled: false });
    expect(await user()).toEqual(all(200));
    await admin("DELETE", `${path}/tokens`);
    expect(await user()).toEqual(all(401));
    const form = new URLSearchParams({ grant_type: "client_credentials", ...credentials(other) });
    await admin("DELETE", path);
    const refused = await onEach("POST", "/oauth/token", { body: form });
    expect(refused.map(({ status }) => status)).toEqual(all(401));
  });

  test("a category that is new, renamed and deleted", async () => {
    const names = async () => {
      const lists = await onEach("GET", "/public/v1/categories?name=thread");
      return lists.map(({ text }) =>
        (JSON.parse(text) as { categories: { name: string }[] }).categories.map(({ name }) => name),
      );
    };
    for (let i = 0; i < rounds; i++) {
      const id = 7_000 + i;
      expect(await names()).toEqual(all([]));
      await admin("PUT", `categories/${id}`, { name: `Threading ${i}`, slug: `threading-${i}` });
      expect(await names()).toEqual(all([`Threading ${i}`]));
      await admin("PUT", `categories/${id}`, { name: `Threads ${i}`, slug: `threading-${i}` });
      expect(await names()).toEqual(all([`Threads ${i}`]));
      expect(await statuses(`/public/v1/categories/${id}`)).toEqual(all(200));
      await admin("DELETE", `categories/${id}`);
      expect(await statuses(`/public/v1/categories/${id}`)).toEqual(all(404));
    }
  });

  test("an event type that is registered, changed and deleted", async () => {
    const receiving = await server.application({ webhook_url: "http://127.0.0.1:1/" });
    const body = { events: [{ name: "raffle.won", version: 1 }], broadcaster_user_id: 1001 };
    const subscribed = async () =>
      (await onEach("POST", subscriptionsPath, { token: receiving.token, body })).map(({ status }) => status);
    const type = { version: 1, schema: { type: "object" }, example: {} };
    expect(await subscribed()).toEqual(all(400));
    await admin("PUT", "event-types/raffle.won", type);
    expect(await subscribed()).toEqual(all(200));
    await admin("PUT", "event-types/raffle.won", { ...type, description: "A raffle was won." });
    for (const { text } of await onEach("GET", "/public/v1/events/types")) {
      expect(text).toContain("A raffle was won.");
    }
    await admin("DELETE", "event-types/raffle.won?version=1");
    expect(await subscribed()).toEqual(all(400));
    for (const { text } of await onEach("GET", "/public/v1/events/types")) {
      expect(text).not.toContain("raffle.won");
    }
  });

  test("a subscription that is created on one thread and deleted on another", async () => {
    const receiving = await server.application({ webhook_url: "http://127.0.0.1:1/" });
    const { token } = receiving;
    const listed = async () =>
      (await onEach("GET", subscriptionsPath, { token })).map(
        ({ text }) => (JSON.parse(text) as { data: unknown[] }).data.length,
      );
    const body = { events: [{ name: "channel.followed", version: 1 }], broadcaster_user_id: 1001 };
    for (let i = 0; i < rounds; i++) {
      const made = await onThread(i).send("POST", subscriptionsPath, { token, body });
      const { data } = JSON.parse(made.text) as { data: { subscription_id: string }[] };
      expect(await listed()).toEqual(all(1));
      const path = `${subscriptionsPath}?id=${data[0]?.subscription_id}`;
      expect((await onThread(i + 1).send("DELETE", path, { token })).status).toBe(204);
      expect(await listed()).toEqual(all(0));
    }
  });

  test("viewers, within a second, and no thread goes back to fewer", async () => {
    const report = (viewers: number) =>
      server.load("livestreams", [{ channel_id: 1001, category_id: 56, viewers }]);
    const seen = async (i: number) => {
      const { text } = await onThread(i).get("/public/v1/categories/56");
      return (JSON.parse(text) as { category: { viewers: number } }).category.viewers;
    };
    let last = 0;
    let asked = 0;
    for (let viewers = 1_000; viewers < 1_004; viewers++) {
      await report(viewers);
      // Not always the same distance to the order before.
      let waitedMs = (viewers % 3) * 150;
      await Bun.sleep(waitedMs);
      while (last !== viewers) {
        const askedAt = performance.now();
        const now = await seen(asked++);
        expect(now).toBeGreaterThanOrEqual(last);
        last = now;
        // Not what a busy machine adds.
        waitedMs += Math.min(performance.now() - askedAt, 20);
        expect(waitedMs).toBeLessThan(1_500);
      }
    }
    expect(asked).toBeGreaterThan(20);
  });
});

describe("the limit of an application is one for all threads", () => {
  test("of requests, however they are spread", async () => {
    const limited = await server.application({ rate_limit: 60 });
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, i) => onThread(i).get("/public/v1/users/xqcow", limited.token)),
    );
    const good = answers.filter(({ status }) => status === 200);
    const left = good.map(({ headers }) => Number(headers.get("ratelimit-remaining")));
    expect(good.length).toBeWithin(60, 62 + refilledSince(startedAt));
    expect(answers.filter(({ status }) => status === 429).length).toBe(90 - good.length);
    expect(new Set(left).size).toBeGreaterThanOrEqual(60);
  });

  test("of tests of its webhook", async () => {
    const receiver = new Receiver();
    const tested = await server.application({ webhook_url: receiver.url });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        onThread(i).send("POST", "/public/v1/events/test", { token: tested.token, body: {} }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBe(10);
    expect(answers.filter(({ status }) => status === 429).length).toBe(2);
    await receiver.stop();
  });

  test("of event streams, and closing one makes room", async () => {
    const few = await startServer({ args: ["--threads", "2", "--stream-limit", "4"] });
    await few.load("users", users);
    const { token } = await few.application({ delivery: "stream" });
    const streams = await Promise.all(Array.from({ length: 4 }, () => openStream(few, token)));
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (let i = 0; i < 6; i++) expect((await openStream(few, token)).status).toBe(429);
    streams[0]?.close();
    let again = await openStream(few, token);
    while (again.status === 429) again = await openStream(few, token);
    expect(again.status).toBe(200);
    for (const stream of [...streams, again]) stream.close();
    await few.stop();
  });
});

/** One a second, of 60 a minute. */
const refilledSince = (startedAt: number) => Math.ceil((performance.now() - startedAt) / 1_000);

interface OpenStream {
  readonly status: number;
  /** Held, because Bun closes the connection of an answer that nobody refers to any more. */
  readonly answer: Response;
  close(): void;
}

/** Opens a stream on a connection of its own. */
async function openStream(to: TestServer, token: string): Promise<OpenStream> {
  const stopping = new AbortController();
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${to.app.publicUrl}/public/v1/events/stream`, {
    headers,
    signal: stopping.signal,
    keepalive: false,
  });
  return { status: answer.status, answer, close: () => stopping.abort() };
}

test("of wrong client secrets from one address there are 60 a minute, on all threads together", async () => {
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: app.client_id,
    client_secret: "wrong",
  });
  const startedAt = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 90 }, (_, i) => onThread(i).send("POST", "/oauth/token", { body })),
  );
  const wrong = answers.filter(({ status }) => status === 401).length;
  expect(wrong).toBeWithin(60, 62 + refilledSince(startedAt));
});

test("a walk with each page from another thread shows every category once while viewers change", async () => {
  const ids = Array.from({ length: 60 }, (_, i) => 100_000 + i);
  await server.load(
    "categories",
    ids.map((id) => ({ id, name: `Walked ${id}`, slug: `walked-${id}` })),
  );
  const channelIds = channels.map(({ id }) => id);
  let isWalking = true;
  let reports = 0;
  const changing = (async () => {
    for (; isWalking; reports++) {
      const rows = channelIds.map((channel_id, i) => ({
        channel_id,
        category_id: ids[(i * 7 + reports * 11) % ids.length],
        viewers: 1 + ((i * 37 + reports * 17) % 101),
      }));
      await server.load("livestreams", rows);
    }
  })();
  const orders = new Set<string>();
  const walk = async (n: number) => {
    const seen: { id: number; viewers: number }[] = [];
    for (let cursor = "", page = 0; ; page++) {
      const answer = await onThread(n + page).get(
        `/public/v1/categories?limit=7&name=walked&cursor=${cursor}`,
      );
      const list = JSON.parse(answer.text) as {
        categories: typeof seen;
        pagination: { cursor: string; has_more: boolean };
      };
      seen.push(...list.categories);
      cursor = list.pagination.cursor;
      if (!list.pagination.has_more) break;
      // So that orders come and go meanwhile.
      await Bun.sleep(n % 3 === 0 ? 300 : 10);
    }
    expect(seen.map(({ id }) => id).sort()).toEqual(ids);
    expect(seen.toSorted((a, b) => b.viewers - a.viewers || a.id - b.id)).toEqual(seen);
    orders.add(JSON.stringify(seen));
  };
  await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      while (orders.size < 4) await walk(n);
    }),
  );
  isWalking = false;
  await changing;
});

test("a stream is told of what is published, whichever thread it is on", async () => {
  const streaming = await server.application({ delivery: "stream" });
  const body = { events: [{ name: "channel.followed", version: 1 }], broadcaster_user_id: 1001 };
  await onThread(0).send("POST", subscriptionsPath, { token: streaming.token, body });
  const before = await requestsByThread(server.app);
  const clients: StreamClient[] = [];
  // Until there is one on each thread.
  for (;;) {
    const client = new StreamClient(server, streaming.token, ["channel.followed"]);
    clients.push(await client.connected());
    const after = await requestsByThread(server.app);
    if (after.every((count, i) => count > (before[i] ?? 0))) break;
    if (clients.length > 60) throw new Error("60 streams did not reach every thread");
  }
  for (let i = 1; i <= 5; i++) {
    await publish(server, event("channel.followed"));
    for (const client of clients) expect(await client.arrived(i)).toHaveLength(i);
  }
  for (const client of clients) client.close();
});

describe("a port", () => {
  test("that threads share is refused to another server, whether it has threads or not", async () => {
    const port = new URL(server.app.publicUrl).port;
    for (const more of [[], ["--threads", "2"]]) {
      const refusal = await startServer({ args: [...more, "--port", port] }).catch((error) => error);
      expect(refusal).toMatchObject({ code: "EADDRINUSE" });
    }
  });

  test("is free when the server has stopped, and every thread has finished its requests before", async () => {
    const receiver = new Receiver(async () => {
      await Bun.sleep(300);
      return new Response(null, { status: 204 });
    });
    const stopping = await startServer({ args: ["--threads", "2"] });
    await stopping.load("users", users);
    const tested = await stopping.application({ webhook_url: receiver.url });
    const each = await connectionToEach(stopping.app, 2);
    const answers = each.map((one) =>
      one.send("POST", "/public/v1/events/test", { token: tested.token, body: {} }),
    );
    await receiver.arrived(2);
    const port = new URL(stopping.app.publicUrl).port;
    await Promise.all([stopping.stop(), ...answers]);
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
    for (const one of each) one.close();
    await receiver.stop();
    const next = await startServer({ args: ["--port", port] });
    expect((await next.get("/public/v1/categories")).status).toBe(200);
    await next.stop();
  });
});
