import { beforeAll, describe, expect, test } from "bun:test";
import { verify as verifyBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { readPublicKey } from "../../src/delivery/signature.ts";
import { ulidPattern } from "../../src/domain/ids.ts";
import { event, example, publish, publishAll, subscribe } from "../support/publishing.ts";
import { categories, channels, livestreams, users } from "../support/real-data.ts";
import { ownReceiver, type Received, type Receiver, testReceiver } from "../support/receiver.ts";
import { json, testServer } from "../support/server.ts";

const server = await testServer({ engineThread: true, users });
await server.load("categories", categories);
await server.load("channels", channels);
await server.load("livestreams", livestreams);

/** An application whose webhook is this receiver, subscribed to events of a broadcaster. */
async function subscribed({ url }: Receiver, names: string[], broadcaster = 1001) {
  const app = await server.application({ webhook_url: url });
  return { ...app, subscriptions: await subscribe(server, app, names, broadcaster) };
}

describe("two published events", () => {
  const names = ["channel.followed", "chat.message.sent"];
  const receiver = testReceiver();
  let app: Awaited<ReturnType<typeof subscribed>>;
  let published: Record<string, unknown>[];
  let arrived: readonly Received[];

  beforeAll(async () => {
    app = await subscribed(receiver, names);
    const answers = [
      await publish(server, event("channel.followed")),
      await publish(server, event("chat.message.sent")),
    ];
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    published = answers.map(({ body }) => body);
    arrived = await receiver.arrived(2);
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

  test("body and headers are as the contract says", () => {
    const byType = new Map(arrived.map((one) => [one.headers["onair-event-type"], one]));
    for (const [i, name] of names.entries()) {
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
        "onair-subscription-id": app.subscriptions[i],
        "onair-sequence": "1",
        "onair-attempt": "1",
        "user-agent": expect.stringMatching(/^onair\/\d+\.\d+\.\d+$/),
      });
    }
  });
});

test("an event is delivered once for each matching subscription, with the same bytes, and for no other", async () => {
  const [one, two, other] = [ownReceiver(), ownReceiver(), ownReceiver()];
  await subscribed(one, ["channel.followed"], 1029);
  await subscribed(two, ["channel.followed"], 1029);
  await subscribe(server, await subscribed(other, ["chat.message.sent"], 1029), ["channel.followed"], 1002);
  const ofTheirs = { broadcaster_user_id: 1029 };
  expect((await publish(server, event("channel.followed", ofTheirs))).body["deliveries"]).toBe(2);
  const [[first], [second]] = [await one.arrived(1), await two.arrived(1)];
  expect(first?.body).toBe(String(second?.body));
  expect(first?.headers["webhook-id"]).not.toBe(String(second?.headers["webhook-id"]));
  // Published after it and to the same receivers: had there been more, it would have come before this one.
  await publish(server, event("chat.message.sent", ofTheirs));
  await other.arrived(1);
  expect([one.received.length, two.received.length, other.received.length]).toEqual([1, 1, 1]);
});

test("first attempts start in the order of publishing, with a sequence without gap", async () => {
  const receiver = ownReceiver();
  await subscribed(receiver, ["chat.message.sent"], 1003);
  const ids = Array.from({ length: 200 }, (_, i) => `ordered-${i}`);
  const events = ids.map((id) => event("chat.message.sent", { broadcaster_user_id: 1003, id }));
  await publishAll(server, events);
  const arrived = await receiver.arrived(200);
  const bySequence = arrived.toSorted(
    (a, b) => Number(a.headers["onair-sequence"]) - Number(b.headers["onair-sequence"]),
  );
  expect(bySequence.map(({ headers }) => headers["onair-event-id"])).toEqual(ids);
  expect(bySequence.map(({ headers }) => Number(headers["onair-sequence"]))).toEqual(
    ids.map((_, i) => i + 1),
  );
});

test("an endpoint that never answers does not delay others", async () => {
  const release = Promise.withResolvers<Response>();
  const [dead, healthy] = [ownReceiver(() => release.promise), ownReceiver()];
  await subscribed(dead, ["moderation.banned"], 1018);
  await subscribed(healthy, ["moderation.banned"], 1018);
  const events = Array.from({ length: 300 }, () => event("moderation.banned", { broadcaster_user_id: 1018 }));
  await publishAll(server, events);
  await healthy.arrived(300);
  expect(dead.received.length).toBeLessThan(300);
  release.resolve(new Response(null, { status: 204 }));
  await dead.arrived(300);
});
