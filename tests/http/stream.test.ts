import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { day, isoTime } from "../../src/domain/time.ts";
import { StreamClient, streamPath } from "../support/event-stream.ts";
import { loginUrl, redirectUri, userTokens } from "../support/oauth.ts";
import {
  event,
  example,
  publish,
  publishAll,
  settled,
  subscribe,
  subscriptionsPath,
} from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { Receiver } from "../support/receiver.ts";
import {
  Clock,
  json,
  startServer,
  type TestApplication,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";
import { until } from "../support/until.ts";

const followed = "channel.followed";
const chat = "chat.message.sent";

describe("an EventSource on the event stream", () => {
  let server: TestServer;
  let app: TestApplication;
  const clients: StreamClient[] = [];

  const open = (token = app.token, lastId?: string, path?: string) => {
    const client = new StreamClient(server, token, [followed, chat], lastId, path);
    clients.push(client);
    return client;
  };

  beforeAll(async () => {
    server = await startServer({ args: ["--stream-limit", "3"] });
    await server.load("users", users);
    app = await server.application({ delivery: "stream" });
    await subscribe(server, app, [followed, chat]);
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await server.stop();
  });

  test("gets what is published, with all that a webhook would have, verified by the standardwebhooks library", async () => {
    const client = await open().connected();
    const published = await publish(server, event(followed));
    const [first] = await client.arrived(1);
    client.close();
    if (!first) throw new Error("nothing arrived");
    const { headers, body } = first.data;
    expect(first.type).toBe(followed);
    expect(JSON.parse(body)).toEqual({
      type: followed,
      version: 1,
      timestamp: expect.stringMatching(/Z$/),
      data: example(followed),
    });
    expect(headers).toMatchObject({
      "onair-event-type": followed,
      "onair-event-version": "1",
      "onair-event-id": published.body["id"],
      "onair-sequence": "1",
      "onair-attempt": "1",
    });
    expect(new Webhook(app.webhook_secret).verify(body, headers)).toEqual(JSON.parse(body));
    expect(() => new Webhook(app.webhook_secret).verify(`${body} `, headers)).toThrow();
  });

  test("arrives within 50 ms of publishing, as a rule", async () => {
    const client = await open().connected();
    const times: number[] = [];
    for (let i = 1; i <= 20; i++) {
      const at = performance.now();
      await publish(server, event(followed));
      await client.arrived(i);
      times.push(performance.now() - at);
    }
    client.close();
    times.sort((a, b) => a - b);
    expect(times[10]).toBeLessThan(50);
  });

  test("goes on behind Last-Event-ID: everything once, in order, nothing twice", async () => {
    const first = await open().connected();
    await publishAll(
      server,
      Array.from({ length: 5 }, () => event(followed)),
    );
    const seen = [...(await first.arrived(5))];
    first.close();
    await publishAll(
      server,
      Array.from({ length: 600 }, () => event(chat)),
    );
    const later = open(app.token, seen[2]?.id);
    const rest = await later.arrived(602);
    later.close();
    expect(rest.slice(0, 2).map(({ data }) => data.headers["webhook-id"])).toEqual(
      seen.slice(3).map(({ data }) => data.headers["webhook-id"]),
    );
    const chats = rest.slice(2).map(({ data }) => Number(data.headers["onair-sequence"]));
    expect(chats).toEqual(Array.from({ length: 600 }, (_, i) => (chats[0] ?? 0) + i));
    expect(new Set(rest.map(({ id }) => id)).size).toBe(602);
  });

  test("without Last-Event-ID it begins now", async () => {
    await publish(server, event(followed));
    const client = await open().connected();
    await publish(server, event(chat));
    expect((await client.arrived(1)).map(({ type }) => type)).toEqual([chat]);
    client.close();
  });

  test("an application gets no events of another one, and cannot go on at the position of another one", async () => {
    const other = await server.application({ delivery: "stream" });
    await subscribe(server, other, [chat]);
    const [mine, theirs] = [await open().connected(), await open(other.token).connected()];
    await publish(server, event(followed));
    await publish(server, event(chat));
    const got = await theirs.arrived(1);
    const [, last] = await mine.arrived(2);
    mine.close();
    theirs.close();
    expect(got.map(({ type }) => type)).toEqual([chat]);
    const answer = await server.get(streamPath, other.token, {
      headers: { "last-event-id": last?.id ?? "" },
    });
    expect(answer.status).toBe(400);
    expect(await json(answer)).toMatchObject({
      code: "invalid_cursor",
      errors: [{ in: "header", field: "Last-Event-ID" }],
    });
  });

  test("a program that has had no event yet misses none: `after` is where it begins each time", async () => {
    const quiet = await server.application({ delivery: "stream" });
    await subscribe(server, quiet, [chat]);
    const path = `${streamPath}?after=${isoTime(Date.now())}`;
    const first = await open(quiet.token, undefined, path).connected();
    first.close();
    await publish(server, event(chat));
    const second = open(quiet.token, undefined, path);
    const [missed] = await second.arrived(1);
    second.close();
    expect(missed?.type).toBe(chat);
    await publish(server, event(chat));
    const third = open(quiet.token, missed?.id, path);
    const [next] = await third.arrived(1);
    third.close();
    expect(next?.data.headers["onair-sequence"]).toBe("2");
  });

  test("what is after a time to come begins now", async () => {
    await publish(server, event(followed));
    const path = `${streamPath}?after=${isoTime(Date.now() + day)}`;
    const client = await open(app.token, undefined, path).connected();
    await publish(server, event(chat));
    expect((await client.arrived(1)).map(({ type }) => type)).toEqual([chat]);
    client.close();
  });

  test.each(["now", "2026-02-30T00:00:00Z", "1768406886"])("?after=%s is refused", async (after) => {
    const answer = await server.get(`${streamPath}?after=${after}`, app.token);
    expect([answer.status, (await json<{ code: string }>(answer)).code]).toEqual([400, "invalid_parameter"]);
  });

  test.each(["x", "AAAAAAAAAAAAAAAAAAAAAA", "%00", "1", "A".repeat(23)])(
    "Last-Event-ID %p is refused",
    async (id) => {
      const answer = await server.get(streamPath, app.token, { headers: { "last-event-id": id } });
      expect([answer.status, (await json<{ code: string }>(answer)).code]).toEqual([400, "invalid_cursor"]);
    },
  );

  test("a stream beyond the limit of the application is refused, until one is closed", async () => {
    const four = await server.application({ delivery: "stream" });
    const opened = [1, 2, 3].map(() => open(four.token));
    await Promise.all(opened.map((client) => client.connected()));
    const refused = await server.get(streamPath, four.token);
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(await json(refused)).toMatchObject({
      code: "rate_limited",
      message: "This application has 3 event streams open, and 3 is the limit; close one first",
    });
    const other = await open().connected();
    other.close();
    opened[0]?.close();
    const again = await (async () => {
      for (;;) {
        const answer = await server.get(streamPath, four.token);
        if (answer.status !== 429) return answer;
        await Bun.sleep(5);
      }
    })();
    expect(again.status).toBe(200);
    await again.body?.cancel();
    for (const client of opened) client.close();
  });

  test("HEAD answers without holding a stream open", async () => {
    for (let i = 0; i < 5; i++) {
      const answer = await server.get(streamPath, app.token, { method: "HEAD" });
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    }
  });

  test("the end of its token ends a stream, and nothing more is sent on it", async () => {
    const gone = await server.application({ delivery: "stream" });
    await subscribe(server, gone, [followed]);
    const client = await open(gone.token).connected();
    const revoked = await server.admin("DELETE", `/admin/v1/applications/${gone.id}/tokens`);
    expect(revoked.status).toBe(200);
    await publish(server, event(followed));
    // Ended, it connects again as clients do, and is refused.
    await client.until(({ errors }) => errors.includes(401));
    expect(client.events).toEqual([]);
  });

  test("what is published for a deleted subscription is not sent any more", async () => {
    const one = await server.application({ delivery: "stream" });
    const [kept = "", deleted = ""] = await subscribe(server, one, [chat, followed]);
    const client = await open(one.token).connected();
    await publish(server, event(chat));
    const [first] = await client.arrived(1);
    client.close();
    await publish(server, event(followed));
    await publish(server, event(chat));
    await server.get(`${subscriptionsPath}?id=${deleted}`, one.token, { method: "DELETE" });
    const later = open(one.token, first?.id);
    const [second] = await later.arrived(1);
    later.close();
    expect(second?.data.headers["onair-subscription-id"]).toBe(kept);
  });
});

describe("how an application gets its events", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
    await server.load("users", users);
  });
  afterAll(() => server.stop());

  test("webhook, where nothing is said: the stream is refused", async () => {
    const app = await server.application();
    const answer = await server.get(streamPath, app.token);
    expect([answer.status, (await json<{ code: string }>(answer)).code]).toEqual([403, "stream_disabled"]);
  });

  test("stream: nothing is sent to its URL, and subscribing needs none", async () => {
    const receiver = new Receiver();
    const app = await server.application({ delivery: "stream", webhook_url: receiver.url });
    const without = await server.application({ delivery: "stream" });
    expect(await subscribe(server, without, [followed])).toEqual([expect.any(String)]);
    await subscribe(server, app, [followed]);
    const client = await new StreamClient(server, app.token, [followed]).connected();
    await publish(server, event(followed));
    await client.arrived(1);
    await settled(server);
    client.close();
    expect(receiver.received).toEqual([]);
    await receiver.stop();
  });

  test("both: the same delivery comes to either", async () => {
    const receiver = new Receiver();
    const app = await server.application({ delivery: "both", webhook_url: receiver.url });
    await subscribe(server, app, [followed]);
    const client = await new StreamClient(server, app.token, [followed]).connected();
    await publish(server, event(followed));
    const [[sent], [streamed]] = await Promise.all([receiver.arrived(1), client.arrived(1)]);
    client.close();
    expect(streamed?.data.body).toBe(sent?.body ?? "");
    expect(streamed?.data.headers["webhook-id"]).toBe(sent?.headers["webhook-id"] ?? "");
    await receiver.stop();
  });

  test("it can be changed: what was waiting for the webhook can be read from the stream, and is not sent", async () => {
    const receiver = new Receiver(() => new Response(null, { status: 500 }));
    const app = await server.application({ delivery: "both", webhook_url: receiver.url });
    await subscribe(server, app, [followed, chat]);
    const client = await new StreamClient(server, app.token, [followed]).connected();
    await publish(server, event(followed));
    const [first] = await client.arrived(1);
    client.close();
    await publish(server, event(chat));
    await receiver.arrived(2);
    await settled(server);
    const changed = await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { delivery: "stream" });
    expect(await json(changed)).toMatchObject({ delivery: "stream", webhook_url: receiver.url });
    const later = new StreamClient(server, app.token, [chat], first?.id);
    expect((await later.arrived(1)).map(({ type }) => type)).toEqual([chat]);
    later.close();
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { delivery: "webhook" });
    await settled(server);
    expect(receiver.received).toHaveLength(2);
    await receiver.stop();
  });

  test("both without a URL is as stream, also where the URL is taken away", async () => {
    const receiver = new Receiver(() => new Response(null, { status: 500 }));
    const app = await server.application({ delivery: "both", webhook_url: receiver.url });
    await subscribe(server, app, [followed, chat]);
    const client = await new StreamClient(server, app.token, [followed]).connected();
    await publish(server, event(followed));
    const [first] = await client.arrived(1);
    client.close();
    await publish(server, event(chat));
    await receiver.arrived(2);
    await settled(server);
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: null });
    await publish(server, event(chat));
    await settled(server);
    const later = new StreamClient(server, app.token, [chat], first?.id);
    expect((await later.arrived(2)).map(({ type }) => type)).toEqual([chat, chat]);
    later.close();
    expect(receiver.received).toHaveLength(2);
    await receiver.stop();
  });

  test("what is published while it is disabled is not sent later either", async () => {
    const app = await server.application({ delivery: "stream" });
    await subscribe(server, app, [followed, chat]);
    const client = await new StreamClient(server, app.token, [followed]).connected();
    await publish(server, event(followed));
    const [first] = await client.arrived(1);
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { disabled: true });
    await publish(server, event(chat));
    await client.until(({ errors }) => errors.includes(401));
    await settled(server);
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { disabled: false });
    await publish(server, event(followed));
    const later = new StreamClient(server, app.token, [followed, chat], first?.id);
    expect((await later.arrived(1)).map(({ type }) => type)).toEqual([followed]);
    later.close();
    expect(client.events).toHaveLength(1);
  });

  test("stream: its subscriptions are well without a URL, and what can be read once more is not sent again", async () => {
    const receiver = new Receiver();
    const app = await server.application({ delivery: "stream" });
    const [id = ""] = await subscribe(server, app, [followed]);
    const client = await new StreamClient(server, app.token, [followed]).connected();
    await publish(server, event(followed));
    const [first] = await client.arrived(1);
    client.close();
    const health = await json(await server.get(`${subscriptionsPath}/${id}`, app.token));
    expect(health).toMatchObject({ data: { status: "enabled", disabled_reason: null, pending: 0 } });
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: receiver.url });
    const delivery = `/public/v1/events/deliveries/${first?.data.headers["webhook-id"]}`;
    expect(await json(await server.get(delivery, app.token))).toMatchObject({
      data: { status: "delivered", attempts: [] },
    });
    const again = await server.get(`${delivery}/retry`, app.token, { method: "POST" });
    expect([again.status, (await json<{ code: string }>(again)).code]).toEqual([409, "conflict"]);
    expect(receiver.received).toEqual([]);
    await receiver.stop();
  });

  test("stream: a delivery that is due once more is not sent either, and can be read still", async () => {
    const data = temporaryDirectory();
    const own = await startServer({ data: data.path });
    await own.load("users", users);
    const receiver = new Receiver();
    const app = await own.application({ delivery: "stream", webhook_url: receiver.url });
    await subscribe(own, app, [followed, chat]);
    const client = await new StreamClient(own, app.token, [followed]).connected();
    await publish(own, event(followed));
    const [first] = await client.arrived(1);
    client.close();
    await publish(own, event(chat));
    const db = new Database(join(data.path, "onair.db"));
    db.run("UPDATE deliveries SET status = 'pending', next_attempt_at = 0, finished_at = NULL");
    await own.app.engine.wake(app.id);
    const statuses = () => db.query("SELECT DISTINCT status FROM deliveries").values().flat();
    await until(() => statuses().join() === "delivered");
    const later = new StreamClient(own, app.token, [chat], first?.id);
    expect((await later.arrived(1)).map(({ type }) => type)).toEqual([chat]);
    later.close();
    expect(receiver.received).toEqual([]);
    db.close();
    await own.stop();
    await receiver.stop();
    data.remove();
  });

  test("a mode that there is not is refused", async () => {
    const answer = await server.admin("POST", "/admin/v1/applications", { name: "Test", delivery: "pigeon" });
    expect([answer.status, (await json<{ code: string }>(answer)).code]).toEqual([400, "invalid_parameter"]);
  });
});

test("a server that stops ends its streams at once, and a client goes on where it was with the next one", async () => {
  const data = temporaryDirectory();
  const first = await startServer({ data: data.path });
  await first.load("users", users);
  const app = await first.application({ delivery: "stream" });
  await subscribe(first, app, [followed, chat]);
  const client = await new StreamClient(first, app.token, [followed]).connected();
  await publish(first, event(followed));
  const [seen] = await client.arrived(1);
  await publish(first, event(chat));
  const at = performance.now();
  await first.stop();
  expect(performance.now() - at).toBeLessThan(5_000);
  await client.until(({ errors }) => errors.length > 0);
  client.close();

  const second = await startServer({ data: data.path });
  const later = new StreamClient(second, app.token, [followed, chat], seen?.id);
  expect((await later.arrived(1)).map(({ type }) => type)).toEqual([chat]);
  later.close();
  await second.stop();
  data.remove();
});

describe("Last-Event-ID from before retention", () => {
  test("is answered with a gap, and then with everything that is still there", async () => {
    const clock = new Clock();
    const start = clock.ms;
    const server = await startServer({ clock, args: ["--keep-bodies-days", "2"] });
    await server.load("users", users);
    const prune = async () => {
      const retention = { deliveredMs: 2 * day, failedMs: 2 * day, bodiesMs: 2 * day };
      while (!(await server.app.store.retention.prune(retention, clock.ms))) {}
    };
    const app = await server.application({ delivery: "stream" });
    await subscribe(server, app, [followed, chat]);
    const client = await new StreamClient(server, app.token, [followed]).connected();
    await publish(server, event(followed));
    const [seen] = await client.arrived(1);
    client.close();
    await publish(server, event(followed));
    clock.advance(day);
    await publish(server, event(chat));

    const inTime = new StreamClient(server, app.token, [followed, chat], seen?.id);
    expect((await inTime.arrived(2)).map(({ type }) => type)).toEqual([followed, chat]);
    inTime.close();

    clock.advance(1.5 * day);
    await prune();
    const late = new StreamClient(server, app.token, [followed, chat], seen?.id);
    const [gap, rest] = await late.arrived(2);
    late.close();
    expect(gap).toMatchObject({
      type: "gap",
      data: { from: isoTime(start), to: isoTime(start + 0.5 * day) },
    });
    expect(rest?.type).toBe(chat);

    const behindGap = new StreamClient(server, app.token, [followed, chat], gap?.id);
    expect((await behindGap.arrived(1)).map(({ type }) => type)).toEqual([chat]);
    behindGap.close();

    // Long ago is not too long ago where nothing was published since.
    const quiet = await server.application({ delivery: "stream" });
    await subscribe(server, quiet, [followed, chat]);
    const before = await new StreamClient(server, quiet.token, [chat]).connected();
    await publish(server, event(chat));
    const [last] = await before.arrived(1);
    before.close();
    clock.advance(30 * day);
    await prune();
    const after = await new StreamClient(server, quiet.token, [followed], last?.id).connected();
    await publish(server, event(followed));
    expect((await after.arrived(1)).map(({ type }) => type)).toEqual([followed]);
    after.close();
    const others = new StreamClient(server, app.token, [followed], seen?.id);
    expect((await others.arrived(2)).map(({ type }) => type)).toEqual(["gap", followed]);
    others.close();
    await server.stop();
  });
});

test("with the token of a user: only what subscriptions for that user bring", async () => {
  const server = await startServer({ args: ["--login-url", loginUrl] });
  await server.load("users", users);
  const app = await server.application({ delivery: "stream", redirect_uris: [redirectUri] });
  await subscribe(server, app, [followed], 1001);
  await subscribe(server, app, [followed], 1002);
  const { access_token } = await userTokens(server, app, { userId: 1002 });
  const client = await new StreamClient(server, access_token, [followed]).connected();
  await publish(server, event(followed));
  await publish(server, event(followed, { broadcaster_user_id: 1002, id: "theirs" }));
  const [first] = await client.arrived(1);
  client.close();
  expect(first?.data.headers["onair-event-id"]).toBe("theirs");
  await server.stop();
});
