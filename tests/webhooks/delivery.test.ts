import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { verify as verifyBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { ulidPattern } from "../../src/domain/ids.ts";
import { readPublicKey } from "../../src/webhooks/signature.ts";
import {
  event,
  example,
  publish,
  sendDue,
  settled,
  subscribe,
  subscriptionsPath,
} from "../support/publishing.ts";
import { categories, channels, livestreams, users } from "../support/real-data.ts";
import { type Received, Receiver } from "../support/receiver.ts";
import {
  Clock,
  json,
  startServer,
  type TestApplication,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";

describe("real names, an application, and two events that arrive", () => {
  let server: TestServer;
  let receiver: Receiver;
  let app: TestApplication;
  let arrived: readonly Received[];
  let subscriptions: string[];
  let published: Record<string, unknown>[];

  beforeAll(async () => {
    server = await startServer();
    receiver = new Receiver();
    await server.load("users", users);
    await server.load("categories", categories);
    await server.load("channels", channels);
    await server.load("livestreams", livestreams);
    app = await server.application({ webhook_url: receiver.url });
    subscriptions = await subscribe(server, app, ["channel.followed", "chat.message.sent"]);
    const answers = [
      await publish(server, event("channel.followed")),
      await publish(server, event("chat.message.sent")),
    ];
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    published = answers.map(({ body }) => body);
    arrived = await receiver.arrived(2);
  });
  afterAll(async () => {
    await server.stop();
    await receiver.stop();
  });

  test("publishing is answered with the event's id and the number of deliveries", () => {
    for (const answer of published) {
      expect(answer).toEqual({ id: expect.stringMatching(new RegExp(ulidPattern)), deliveries: 1 });
    }
  });

  test("the standardwebhooks library verifies them unchanged", () => {
    const webhook = new Webhook(app.webhook_secret);
    for (const { headers, body } of arrived) expect(webhook.verify(body, headers)).toEqual(JSON.parse(body));
  });

  test("a changed body, another secret and another id are not verified", () => {
    const [first] = arrived;
    if (!first) throw new Error("nothing arrived");
    expect(() => new Webhook(app.webhook_secret).verify(`${first.body} `, first.headers)).toThrow();
    expect(() => new Webhook(`whsec_${btoa("x".repeat(32))}`).verify(first.body, first.headers)).toThrow();
    const other = { ...first.headers, "webhook-id": "01JHJ1V2GQ5Z8N1F4T7Y0XW3C0" };
    expect(() => new Webhook(app.webhook_secret).verify(first.body, other)).toThrow();
  });

  test("the platform's public key verifies the v1a signature", async () => {
    const response = await server.get("/public/v1/public-key");
    const answer = await json<{ data: { public_key: string } }>(response);
    const { data } = answer;
    // Strict clients take no other field.
    expect(answer).toEqual({ data: { public_key: expect.any(String) }, message: "OK" } as never);
    const other = await server.get("/public/v1/public-key/standard-webhooks");
    const { data: standard } = await json<{ data: { public_key: string } }>(other);
    expect(standard).toEqual({ public_key: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/) } as never);
    const [pem, whpk] = [data.public_key, standard.public_key].map(
      (text) => readPublicKey(text).export({ format: "jwk" }).x,
    );
    expect(whpk).toBe(pem as string);
    for (const { headers, body } of arrived) {
      const signature =
        headers["webhook-signature"]?.split(" ").find((part) => part.startsWith("v1a,")) ?? "";
      const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
      const bytes = Buffer.from(signature.slice(4), "base64");
      expect(verifyBytes(null, Buffer.from(content), data.public_key, bytes)).toBe(true);
    }
  });

  test("body and headers are those of the contract", () => {
    const byType = new Map(arrived.map((one) => [one.headers["onair-event-type"], one]));
    for (const [i, name] of ["channel.followed", "chat.message.sent"].entries()) {
      const { headers, body } = byType.get(name) ?? { headers: {} as Record<string, string>, body: "" };
      expect(JSON.parse(body)).toEqual({
        type: name,
        version: 1,
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        data: example(name),
      });
      expect(headers).toMatchObject({
        "content-type": "application/json",
        "webhook-id": expect.stringMatching(new RegExp(ulidPattern)),
        "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
        "onair-event-type": name,
        "onair-event-version": "1",
        "onair-event-id": published[i]?.["id"],
        "onair-subscription-id": subscriptions[i],
        "onair-sequence": "1",
        "onair-attempt": "1",
        "user-agent": expect.stringMatching(/^onair\/\d+\.\d+\.\d+$/),
      });
    }
  });
});

describe("who gets what", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ users });
  });
  afterAll(() => server.stop());

  test("each matching subscription once, with the same bytes, and nobody else", async () => {
    const [one, two, other] = [new Receiver(), new Receiver(), new Receiver()];
    try {
      await subscribe(server, await server.application({ webhook_url: one.url }), ["channel.followed"]);
      await subscribe(server, await server.application({ webhook_url: two.url }), ["channel.followed"]);
      const app = await server.application({ webhook_url: other.url });
      await subscribe(server, app, ["chat.message.sent"]);
      await subscribe(server, app, ["channel.followed"], 1002);
      expect((await publish(server, event("channel.followed"))).body["deliveries"]).toBe(2);
      const [[first], [second]] = [await one.arrived(1), await two.arrived(1)];
      expect(first?.body).toBe(String(second?.body));
      expect(first?.headers["webhook-id"]).not.toBe(String(second?.headers["webhook-id"]));
      // Published after it and to the same receivers: had there been more, it would have come before this one.
      await publish(server, event("chat.message.sent"));
      await other.arrived(1);
      expect([one.received.length, two.received.length, other.received.length]).toEqual([1, 1, 1]);
    } finally {
      await Promise.all([one.stop(), two.stop(), other.stop()]);
    }
  });

  test("first attempts start in the order of publishing, with a sequence without gap", async () => {
    const receiver = new Receiver();
    try {
      await subscribe(
        server,
        await server.application({ webhook_url: receiver.url }),
        ["chat.message.sent"],
        1003,
      );
      const lines = Array.from({ length: 200 }, (_, i) =>
        JSON.stringify(event("chat.message.sent", { broadcaster_user_id: 1003, id: `ordered-${i}` })),
      );
      const response = await server.admin("POST", "/admin/v1/events", lines.join("\n"));
      expect(await json<object>(response)).toEqual({ accepted: 200, rejected: 0, errors: [] });
      const arrived = await receiver.arrived(200);
      const bySequence = arrived.toSorted(
        (a, b) => Number(a.headers["onair-sequence"]) - Number(b.headers["onair-sequence"]),
      );
      expect(bySequence.map(({ headers }) => headers["onair-event-id"])).toEqual(
        lines.map((_, i) => `ordered-${i}`),
      );
      expect(bySequence.map(({ headers }) => headers["onair-sequence"])).toEqual(
        lines.map((_, i) => String(i + 1)),
      );
    } finally {
      await receiver.stop();
    }
  });

  test("an endpoint that never answers holds up nobody else", async () => {
    const release = Promise.withResolvers<Response>();
    const [dead, healthy] = [new Receiver(() => release.promise), new Receiver()];
    try {
      await subscribe(
        server,
        await server.application({ webhook_url: dead.url }),
        ["moderation.banned"],
        1018,
      );
      await subscribe(
        server,
        await server.application({ webhook_url: healthy.url }),
        ["moderation.banned"],
        1018,
      );
      const lines = Array.from({ length: 300 }, () =>
        JSON.stringify(event("moderation.banned", { broadcaster_user_id: 1018 })),
      );
      await server.admin("POST", "/admin/v1/events", lines.join("\n"));
      await healthy.arrived(300);
      expect(dead.received.length).toBeLessThan(300);
    } finally {
      release.resolve(new Response(null, { status: 204 }));
      await dead.arrived(300);
      await Promise.all([dead.stop(), healthy.stop()]);
    }
  });

  test("a deleted subscription gets nothing that was still pending", async () => {
    const receiver = new Receiver(() => new Response(null, { status: 500 }));
    try {
      const app = await server.application({ webhook_url: receiver.url });
      const [id] = await subscribe(server, app, ["kicks.gifted"]);
      await publish(server, event("kicks.gifted"));
      await receiver.arrived(1);
      await server.get(`${subscriptionsPath}?id=${id}`, app.token, { method: "DELETE" });
      const pending = await server.app.store.deliveries.pending();
      expect(pending.filter(({ application_id }) => application_id === app.id)).toEqual([]);
    } finally {
      await receiver.stop();
    }
  });
});

describe("publishing", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ users });
  });
  afterAll(() => server.stop());

  test("the same id again is answered as before and sends nothing", async () => {
    const receiver = new Receiver();
    try {
      await subscribe(server, await server.application({ webhook_url: receiver.url }), [
        "channel.followed",
        "kicks.gifted",
      ]);
      const first = await publish(server, event("channel.followed", { id: "evt-1" }));
      const again = await publish(server, event("channel.followed", { id: "evt-1" }));
      expect(first.body).toEqual({ id: "evt-1", deliveries: 1 });
      expect(again).toEqual(first);
      const other = await publish(server, event("kicks.gifted", { id: "evt-1" }));
      expect([other.status, other.body["code"]]).toEqual([409, "conflict"]);
      await publish(server, event("kicks.gifted", { id: "evt-2" }));
      await receiver.arrived(2);
      expect(receiver.received.map(({ headers }) => headers["onair-event-id"]).sort()).toEqual([
        "evt-1",
        "evt-2",
      ]);
    } finally {
      await receiver.stop();
    }
  });

  test.each<[string, object, string[]]>([
    ["nothing at all", {}, ["broadcaster_user_id", "data", "name", "version"]],
    ["an unknown event", { ...event("channel.followed"), name: "channel.raided" }, ["name"]],
    ["an unknown version", { ...event("channel.followed"), version: 2 }, ["version"]],
    [
      "an unknown broadcaster",
      event("channel.followed", { broadcaster_user_id: 5 }),
      ["broadcaster_user_id"],
    ],
    ["an id of another alphabet", event("channel.followed", { id: "a b" }), ["id"]],
    [
      "a payload that does not fit",
      event("channel.followed", { data: { follower: 1 } }),
      ["data.broadcaster", "data.follower"],
    ],
  ])("%s is refused with all wrong fields, and nothing is kept", async (_, body, fields) => {
    const answer = await publish(server, body);
    expect(answer.status).toBe(400);
    expect(answer.body["code"]).toBe("invalid_parameter");
    const errors = answer.body["errors"] as { field: string }[];
    expect(errors.map(({ field }) => field).sort()).toEqual(fields);
  });

  test("an atomic batch with a bad line keeps nothing and sends nothing; without it, all of it", async () => {
    const receiver = new Receiver();
    try {
      await subscribe(
        server,
        await server.application({ webhook_url: receiver.url }),
        ["kicks.gifted"],
        1002,
      );
      const kick = (id: string, more: object = {}) =>
        event("kicks.gifted", { broadcaster_user_id: 1002, id, ...more });
      const post = async (...events: object[]) => {
        const lines = events.map((one) => JSON.stringify(one)).join("\n");
        return json<object>(await server.admin("POST", "/admin/v1/events?atomic=true", lines));
      };
      const unfit = { data: { gift: 1 } };
      expect(await post(kick("all-1"), kick("all-2", unfit), kick("all-3"))).toMatchObject({
        accepted: 0,
        rejected: 1,
        errors: [{ line: 2 }],
      });
      // Found out only inside the transaction: nothing of the first line may stay behind.
      expect(await post(kick("all-1"), kick("all-2", { broadcaster_user_id: 5 }))).toEqual({
        accepted: 0,
        rejected: 1,
        errors: [{ line: 2, message: "broadcaster_user_id is not a known user" }],
      });
      expect(await post(kick("all-3"), kick("all-1"))).toEqual({ accepted: 2, rejected: 0, errors: [] });
      const arrived = await receiver.arrived(2);
      expect(arrived.map(({ headers }) => headers["onair-event-id"]).sort()).toEqual(["all-1", "all-3"]);
      expect(arrived.map(({ headers }) => headers["onair-sequence"]).sort()).toEqual(["1", "2"]);
    } finally {
      await receiver.stop();
    }
  });

  test("a bad line in the middle is refused alone", async () => {
    const lines = [
      JSON.stringify(event("channel.followed")),
      '{"name":',
      JSON.stringify(event("channel.followed", { broadcaster_user_id: 5 })),
      "",
      JSON.stringify(event("kicks.gifted")),
    ];
    const response = await server.admin("POST", "/admin/v1/events", lines.join("\n"));
    expect(response.status).toBe(202);
    expect(await json<object>(response)).toEqual({
      accepted: 2,
      rejected: 2,
      errors: [
        { line: 2, message: "The line is not valid JSON" },
        { line: 3, message: "broadcaster_user_id is not a known user" },
      ],
    });
  });
});

describe("retries, on a clock of their own", () => {
  const clock = new Clock();
  let server: TestServer;
  let app: TestApplication;
  let receiver: Receiver;
  let status = 500;
  const headers: Record<string, string> = {};
  const data = temporaryDirectory();
  const args = ["--time-to-live", "livestream.status.updated=30"];
  const start = () => startServer({ clock, data: data.path, args });

  beforeAll(async () => {
    receiver = new Receiver(({ headers: sent }) => {
      if (sent["onair-event-type"] === "kicks.gifted") return new Response(null, { status: 204 });
      return new Response("try later", { status, headers });
    });
    server = await start();
    await server.load("users", users);
    app = await server.application({ webhook_url: receiver.url });
    const types = ["channel.followed", "chat.message.sent", "kicks.gifted", "livestream.status.updated"];
    await subscribe(server, app, types);
  });
  afterAll(async () => {
    await server.stop();
    await receiver.stop();
    data.remove();
  });

  /** When the application's next delivery is due, in milliseconds from now; null: nothing is pending. */
  async function dueIn(): Promise<number | null> {
    for (;;) {
      await settled(server);
      const [pending] = await server.app.store.deliveries.pending();
      if (!pending || pending.due_at > clock.ms) return pending ? pending.due_at - clock.ms : null;
      await Bun.sleep(1); // what is due now is about to be started
    }
  }
  /** Another delivery arrives, without which the endpoint would be disabled after a day. */
  async function showLife(): Promise<void> {
    const count = receiver.received.length + 1;
    await publish(server, event("kicks.gifted"));
    await receiver.arrived(count);
  }
  async function attemptAfter(ms: number): Promise<Received> {
    const count = receiver.received.length + 1;
    clock.advance(ms);
    await sendDue(server, app);
    const all = await receiver.arrived(count);
    const last = all.at(-1);
    if (!last) throw new Error("nothing arrived");
    return last;
  }

  test("follow the schedule under the same id, with a new timestamp and number, across a restart, until it is given up", async () => {
    await publish(server, event("channel.followed"));
    const [first] = await receiver.arrived(1);
    const minute = 60_000;
    const hour = 60 * minute;
    const schedule = [
      5_000,
      5 * minute,
      30 * minute,
      2 * hour,
      5 * hour,
      10 * hour,
      14 * hour,
      20 * hour,
      24 * hour,
    ];
    for (const [i, wait] of schedule.entries()) {
      expect(await dueIn()).toBe(wait);
      if (i === 3) {
        await server.stop();
        server = await start();
        expect(await dueIn()).toBe(wait);
      }
      await showLife();
      const next = await attemptAfter(wait);
      expect(next.body).toBe(String(first?.body));
      expect(next.headers).toMatchObject({
        "webhook-id": first?.headers["webhook-id"],
        "onair-attempt": String(i + 2),
        "onair-sequence": "1",
        "webhook-timestamp": String(Math.floor(clock.ms / 1000)),
      });
    }
    expect(await dueIn()).toBeNull();
    const attempts = receiver.received.filter(
      ({ headers: sent }) => sent["webhook-id"] === first?.headers["webhook-id"],
    );
    expect(attempts).toHaveLength(10);
  });

  test("wait as long as Retry-After asks", async () => {
    [status, headers["retry-after"]] = [503, "3600"];
    const before = receiver.received.length;
    await publish(server, event("channel.followed"));
    await receiver.arrived(before + 1);
    expect(await dueIn()).toBeGreaterThanOrEqual(3_600_000);
    status = 204;
    delete headers["retry-after"];
    await attemptAfter((await dueIn()) ?? 0);
    expect(await dueIn()).toBeNull();
  });

  test("end when the time is over that was set for a type", async () => {
    status = 500;
    const before = receiver.received.length;
    await publish(server, event("livestream.status.updated"));
    await receiver.arrived(before + 1);
    expect(await dueIn()).toBe(5_000);
    await attemptAfter(5_000);
    // The next one would be due in five minutes.
    expect(await dueIn()).toBeNull();
    status = 204;
    await showLife();
  });

  test("end when the event has outlived its time: chat after 10 minutes", async () => {
    status = 500;
    const before = receiver.received.length;
    await publish(server, event("chat.message.sent"));
    await receiver.arrived(before + 1);
    expect(await dueIn()).toBe(5_000);
    await attemptAfter(5_000);
    expect(await dueIn()).toBe(300_000);
    clock.advance(600_000);
    await sendDue(server, app);
    expect(await dueIn()).toBeNull();
    expect(receiver.received).toHaveLength(before + 2);
  });
});
