import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { builtInEventTypes } from "../../src/domain/events/catalogue.ts";
import { minute, second } from "../../src/domain/time.ts";
import { users } from "../support/real-data.ts";
import { type Received, Receiver } from "../support/receiver.ts";
import { Clock, json, startServer, type TestApplication, type TestServer } from "../support/server.ts";

const path = "/public/v1/events/test";
const clock = new Clock(Date.now() - 4 * minute);
let server: TestServer;
let receiver: Receiver;
let app: TestApplication;
let answer: () => Response | Promise<Response> = () => new Response(null, { status: 204 });

beforeAll(async () => {
  receiver = new Receiver(() => answer());
  server = await startServer({ clock });
  await server.load("users", users);
  app = await server.application({ webhook_url: receiver.url });
});
afterAll(async () => {
  await server.stop();
  await receiver.stop();
});

interface Exchange {
  delivered: boolean;
  problem: string | null;
  outcome: string;
  error: string | null;
  request: { url: string; headers: Record<string, string>; body: string };
  response: { status: number; body: string } | null;
  duration_ms: number;
  timings: Record<string, number | null>;
}
async function tested(body: object = {}, token = app.token) {
  clock.advance(6 * second); // so that the rate limit allows it
  const response = await server.post(path, body, token);
  const { data, ...rest } = await json<{ data: Exchange; code?: string; errors?: { field: string }[] }>(
    response,
  );
  return { status: response.status, data, ...rest };
}
const last = () => receiver.received.at(-1) as Received;

describe("a test", () => {
  test.each(builtInEventTypes.map(({ name }) => name))(
    "sends a signed %s and shows the exchange",
    async (name) => {
      const { status, data } = await tested({ event: name });
      expect(status).toBe(200);
      expect(data).toMatchObject({
        delivered: true,
        problem: null,
        outcome: "ok",
        error: null,
        response: { status: 204, body: "" },
      });
      const { body, headers } = last();
      expect(new Webhook(app.webhook_secret).verify(body, headers)).toMatchObject({ type: name });
      expect([headers["onair-test"], headers["onair-event-type"]]).toEqual(["true", name]);
      expect(data.request.body).toBe(body);
      expect(headers).toMatchObject(data.request.headers);
      expect(data.request.url).toBe(receiver.url);
      expect(data.timings).toMatchObject({
        connect_ms: expect.any(Number),
        first_byte_ms: expect.any(Number),
      });
    },
  );

  test("is channel.followed unless told otherwise, also without a body", async () => {
    await tested();
    expect(JSON.parse(last().body)).toMatchObject({ type: "channel.followed", version: 1 });
    const bare = await server.get(path, app.token, { method: "POST" });
    expect(bare.status).toBe(200);
  });

  test("may be of a type that the operator registered", async () => {
    const type = {
      version: 3,
      description: "A raid.",
      schema: { type: "object", properties: { raiders: { type: "integer" } }, required: ["raiders"] },
      example: { raiders: 12 },
    };
    const put = await server.admin("PUT", "/admin/v1/event-types/channel.raided", type);
    expect([200, 201]).toContain(put.status);
    expect((await tested({ event: "channel.raided", version: 3 })).data.delivered).toBe(true);
    expect(JSON.parse(last().body)).toMatchObject({
      type: "channel.raided",
      version: 3,
      data: { raiders: 12 },
    });
  });

  test("shows neither the signature nor a secret", async () => {
    const { data } = await tested();
    const text = JSON.stringify(data);
    for (const signature of last().headers["webhook-signature"]?.split(" ") ?? [])
      expect(text).not.toContain(signature.split(",")[1] ?? "");
    for (const secret of [app.webhook_secret, app.client_secret, app.token])
      expect(text).not.toContain(secret);
  });

  test("leaves no delivery behind and says nothing of the endpoint", async () => {
    answer = () => new Response(null, { status: 500 });
    await tested();
    const listed = await json<{ data: unknown[] }>(
      await server.get("/public/v1/events/deliveries", app.token),
    );
    expect(listed.data).toEqual([]);
    expect(await server.app.store.endpoints.find(app.id)).toBeNull();
  });
});

describe("what the receiver did wrong", () => {
  test("a redirect is not followed, wherever it leads", async () => {
    const location = "http://169.254.169.254/latest/meta-data";
    answer = () => new Response(null, { status: 302, headers: { location } });
    const before = receiver.received.length;
    const { data } = await tested();
    expect(data).toMatchObject({ delivered: false, response: { status: 302 }, outcome: "status" });
    expect(data.problem).toContain("redirect");
    expect(receiver.received.length).toBe(before + 1);
  });

  test("a status, and what was said with it", async () => {
    answer = () => new Response("no such hook", { status: 404 });
    const { data } = await tested();
    expect(data.response).toEqual({ status: 404, body: "no such hook" });
    expect(data.problem).toContain("path");
  });

  test("a web page", async () => {
    answer = () => new Response("<!doctype html><h1>Welcome", { status: 200 });
    expect((await tested()).data).toMatchObject({
      delivered: true,
      problem: expect.stringContaining("web page"),
    });
  });

  test.each<[string, string, string]>([
    ["nobody listens", "http://127.0.0.1:9/hook", "refused"],
    ["it speaks no TLS", "https", "tls"],
    ["the name does not resolve", "http://receiver.invalid/hook", "dns"],
  ])("%s", async (_, url, outcome) => {
    answer = () => new Response(null, { status: 204 });
    const webhook_url = url === "https" ? receiver.url.replace("http:", "https:") : url;
    const other = await server.application({ webhook_url });
    const { status, data } = await tested({}, other.token);
    expect([status, data.delivered, data.response]).toEqual([200, false, null]);
    expect([outcome, "protocol"]).toContain(data.outcome);
    expect(data.problem).toBeString();
  });
});

describe("is refused", () => {
  test.each<[object, string]>([
    [{ event: "no.such.event" }, "event"],
    [{ event: "channel.followed", version: 2 }, "version"],
    [{ event: 1 }, "event"],
  ])("for %j", async (body, field) => {
    const before = receiver.received.length;
    const { status, errors } = await tested(body);
    expect([status, errors?.map((error) => error.field)]).toEqual([400, [field]]);
    expect(receiver.received.length).toBe(before);
  });

  test("without a webhook URL", async () => {
    const { token } = await server.application();
    expect(await tested({}, token)).toMatchObject({ status: 409, code: "conflict" });
  });

  test("beyond ten a minute, each application on its own", async () => {
    clock.advance(minute);
    const [one, two] = [
      await server.application({ webhook_url: receiver.url }),
      await server.application({ webhook_url: receiver.url }),
    ];
    const statusOf = async ({ token }: TestApplication) => (await server.post(path, {}, token)).status;
    for (let n = 0; n < 10; n++) expect(await statusOf(one)).toBe(200);
    const limited = await server.post(path, {}, one.token);
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "6"]);
    expect(await statusOf(two)).toBe(200);
  });
});

test("nothing is sent to an address that is not public, however the URL came to be", async () => {
  const guarded = await startServer({ env: { ONAIR_ALLOW_PRIVATE_WEBHOOKS: "false" } });
  try {
    const made = await guarded.application({ webhook_url: "https://receiver.example/hook" });
    const changes = { webhook_url: receiver.url };
    await guarded.app.store.applications.update(made.id, changes, Date.now());
    const before = receiver.received.length;
    const { data } = await json<{ data: Exchange }>(await guarded.post(path, {}, made.token));
    expect(data).toMatchObject({ delivered: false, outcome: "blocked", response: null });
    expect(receiver.received.length).toBe(before);
  } finally {
    await guarded.stop();
  }
});
