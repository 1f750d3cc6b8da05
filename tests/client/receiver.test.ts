import { describe, expect, test } from "bun:test";
import { createServer } from "node:http";
import express from "express";
import { type PlatformEvent, type ReceivedEvent, receiver } from "../../src/client/onair.ts";
import { newWebhookSecret, sign } from "../../src/delivery/signature.ts";
import { afterTests } from "../support/after-tests.ts";
import { ownListener } from "../support/listener.ts";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { json, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** `receiver()` behind every supported server, with deliveries of a running platform and with forged ones. */

type Handled = ReceivedEvent<PlatformEvent>;
type Handler = ReturnType<typeof receiver>;

const secret = newWebhookSecret();
const body = JSON.stringify({
  type: "channel.followed",
  version: 1,
  timestamp: "2026-01-14T16:00:00.000Z",
  data: {},
});

interface Difference {
  readonly id?: string;
  readonly ageMs?: number;
  readonly signedWith?: string;
  readonly body?: string;
  readonly headers?: Record<string, string | undefined>;
}

/** A request like the platform's, with these changes. */
function delivery({ id = "01KEYN3T9V5Z8N1F4T7Y0XW3CA", ageMs = 0, ...rest }: Difference = {}): RequestInit {
  const timestampSeconds = Math.floor((Date.now() - ageMs) / 1000);
  const signature = sign({ id, timestampSeconds, body, secrets: [rest.signedWith ?? secret] });
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": signature,
    "onair-event-id": "01KEYN3T9TQ5Z8N1F4T7Y0XW3B",
    "onair-subscription-id": "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
    "onair-sequence": "42",
    "onair-attempt": "2",
    ...rest.headers,
  };
  const given = Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return { method: "POST", headers: given, body: rest.body ?? body };
}

const servers: Record<string, (handler: Handler) => Promise<string>> = {
  async "Request and Response"(handler) {
    return ownListener(handler).url;
  },
  async "http.createServer"(handler) {
    const server = createServer(handler.node).listen(0, "127.0.0.1");
    afterTests(() => server.close());
    await until(() => server.listening);
    return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
  },
  async Express(handler) {
    const app = express();
    app.post("/", handler.node);
    return listening(app);
  },
  async "Express behind express.raw()"(handler) {
    const app = express();
    app.set("env", "test");
    app.use(express.raw({ type: "application/json" }));
    app.post("/", handler.node);
    return listening(app);
  },
};

async function listening(app: ReturnType<typeof express>): Promise<string> {
  const server = app.listen(0, "127.0.0.1");
  afterTests(() => server.close());
  await until(() => server.listening);
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

describe.each(Object.keys(servers))("behind %s", (name) => {
  const start = (onEvent: (event: Handled) => unknown) =>
    servers[name]?.(receiver({ secret, onEvent, onError: () => {} })) ?? Promise.reject(new Error(name));

  test("passes on a genuine delivery, with the values of its headers", async () => {
    const handled: Handled[] = [];
    const url = await start((one) => handled.push(one));
    expect((await fetch(url, delivery())).status).toBe(204);
    expect(handled).toEqual([
      {
        ...JSON.parse(body),
        delivery: {
          id: "01KEYN3T9V5Z8N1F4T7Y0XW3CA",
          eventId: "01KEYN3T9TQ5Z8N1F4T7Y0XW3B",
          subscriptionId: "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
          sequence: 42,
          attempt: 2,
          isTest: false,
        },
      },
    ]);
  });

  test.each<[string, RequestInit, number]>([
    ["another secret", delivery({ signedWith: newWebhookSecret() }), 401],
    ["an old timestamp", delivery({ ageMs: 10 * 60_000 }), 401],
    ["a timestamp of the future", delivery({ ageMs: -10 * 60_000 }), 401],
    ["another body", delivery({ body: body.replace("1", "2") }), 401],
    ["no signature", delivery({ headers: { "webhook-signature": undefined } }), 401],
    ["no id", delivery({ headers: { "webhook-id": undefined } }), 401],
    ["a signature of another version", delivery({ headers: { "webhook-signature": "v9,AAAA" } }), 401],
    ["no body", { ...delivery(), body: "" }, 401],
    ["two megabytes", delivery({ body: "x".repeat(2 * 1024 * 1024) }), 413],
  ])("refuses %s", async (what, init, status) => {
    const handled: Handled[] = [];
    const url = await start((one) => handled.push(one));
    // A parser in front with a limit of its own refuses first.
    const answer = await fetch(url, init).catch(() => ({ status: 413 }));
    expect([what, answer.status]).toEqual([what, status]);
    expect(handled).toEqual([]);
  });

  test("a repeated delivery is accepted and ignored; after a failure it is handled again", async () => {
    let calls = 0;
    const url = await start(() => {
      if (++calls === 1) throw new Error("not now");
    });
    expect((await fetch(url, delivery())).status).toBe(500);
    expect((await fetch(url, delivery())).status).toBe(204);
    expect((await fetch(url, delivery())).status).toBe(204);
    expect(calls).toBe(2);
  });
});

test("a repeated delivery waits for the first, if that is still being handled, and gets the same answer", async () => {
  let finish = (_: boolean) => {};
  let calls = 0;
  const handler = receiver({
    secret,
    onEvent: ({ delivery: { id } }) => {
      if (id === "later") return;
      calls++;
      return new Promise<void>((resolve, reject) => {
        finish = (isGood) => (isGood ? resolve() : reject(new Error("no")));
      });
    },
    onError: () => {},
  });
  const both = [0, 1].map(() => handler(new Request("http://a/", delivery())));
  // Once a delivery that came after both is handled, the second of them waits.
  await handler(new Request("http://a/", delivery({ id: "later" })));
  expect(calls).toBe(1);
  finish(false);
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual([500, 500]);
  expect(calls).toBe(1);
});

test("remembers the configured number of newest ids", async () => {
  let calls = 0;
  const handler = receiver({ secret, remember: 2, onEvent: () => void calls++ });
  for (const id of ["a", "b", "c", "c", "b", "a"]) await handler(new Request("http://a/", delivery({ id })));
  expect(calls).toBe(4);
});

test("a body that was already parsed cannot be verified: it is refused, and the log says why", async () => {
  const app = express();
  app.use(express.json());
  const handled: Handled[] = [];
  app.post("/", receiver({ secret, onEvent: (one) => handled.push(one) }).node);
  const { error } = console;
  const logged: unknown[] = [];
  console.error = (...args: unknown[]) => void logged.push(...args);
  const answer = await fetch(await listening(app), delivery());
  console.error = error;
  expect([answer.status, handled]).toEqual([500, []]);
  expect(String(logged[0])).toContain("mount the receiver before express.json()");
});

test("GET is 405, and an invalid secret is refused at once", async () => {
  const handler = receiver({ secret, onEvent: () => {} });
  expect((await handler(new Request("http://a/"))).status).toBe(405);
  for (const wrong of ["", "whsec_", "whsec_!!", "secret"])
    expect(() => receiver({ secret: wrong, onEvent: () => {} })).toThrow("secret must be");
});

test("a sample is refused once it is verified, whatever its headers say, unless acceptTests is set", async () => {
  const handled: Handled[] = [];
  const onEvent = (one: Handled) => handled.push(one);
  const handler = receiver({ secret, onEvent });
  const id = "test_01KEYN3T9V5Z8N1F4T7Y0XW3CA";
  const answer = await handler(
    new Request("http://a/", delivery({ id, headers: { "onair-test": "false" } })),
  );
  expect(answer.status).toBe(403);
  expect(await answer.text()).toContain("test_");
  const forged = delivery({ id, signedWith: newWebhookSecret() });
  expect((await handler(new Request("http://a/", forged))).status).toBe(401);
  expect(handled).toEqual([]);
  const accepting = receiver({ secret, onEvent, acceptTests: true });
  expect((await accepting(new Request("http://a/", delivery({ id })))).status).toBe(204);
  expect(handled.map(({ delivery: { isTest } }) => isTest)).toEqual([true]);
});

test("accepts deliveries of a running platform, also while a secret is replaced, and marks samples", async () => {
  const server = await testServer();
  await server.load("users", users);
  const handled: Handled[] = [];
  let handler: Handler = receiver({ secret, onEvent: () => {} });
  const listener = ownListener((request) => handler(request));
  const app = await server.application({ webhook_url: listener.url });
  handler = receiver({ secret: app.webhook_secret, onEvent: (one) => handled.push(one) });
  await subscribe(server, app, ["chat.message.sent"]);
  await publish(server, event("chat.message.sent"));
  await until(() => handled.length === 1);
  const path = `/admin/v1/applications/${app.id}/webhook-secret`;
  const { webhook_secret } = await json<{ webhook_secret: string }>(await server.admin("POST", path, {}));
  await publish(server, event("chat.message.sent"));
  await until(() => handled.length === 2);
  handler = receiver({ secret: webhook_secret, onEvent: (one) => handled.push(one) });
  await publish(server, event("chat.message.sent"));
  await until(() => handled.length === 3);
  await settled(server);
  const sample = async () =>
    (
      await json<{ data: object }>(
        await server.post("/public/v1/events/test", { event: "kicks.gifted" }, app.token),
      )
    ).data;
  expect(await sample()).toMatchObject({
    delivered: false,
    response: { status: 403 },
    problem: expect.stringContaining("refuses samples"),
  });
  handler = receiver({ secret: webhook_secret, onEvent: (one) => handled.push(one), acceptTests: true });
  expect(await sample()).toMatchObject({ delivered: true });
  expect(handled.map(({ type, delivery: { isTest } }) => [type, isTest])).toEqual([
    ["chat.message.sent", false],
    ["chat.message.sent", false],
    ["chat.message.sent", false],
    ["kicks.gifted", true],
  ]);
  const [first] = handled;
  // Compiles only because `type` narrows the union.
  if (first?.type === "chat.message.sent") expect(first.data.content.length).toBeGreaterThan(0);
});
