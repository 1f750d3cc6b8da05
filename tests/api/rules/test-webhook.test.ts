import { describe, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import { Webhook } from "standardwebhooks";
import { readPublicKey, verify } from "../../../src/delivery/signature.ts";
import { minute } from "../../../src/domain/time.ts";
import { ownListener } from "../../support/listener.ts";
import { type Exchange, testedWebhook, testWebhookPath } from "../../support/publishing.ts";
import { json, ownServer, type TestApplication } from "../../support/server.ts";

const path = testWebhookPath;
const webhook = await testedWebhook();
const { app, clock, received, receiver, server, tested } = webhook;

const { data: keys } = await json<{ data: { public_key: string } }>(
  await server.get("/public/v1/public-key"),
);
const publicKey = readPublicKey(keys.public_key);

/** The verdict of a receiver that knows only the platform's key. */
function verifiedByKey(headers: Record<string, string>, body: string) {
  const { "webhook-id": id, "webhook-timestamp": timestamp = "", "webhook-signature": signature } = headers;
  return verify({ id, timestamp, signature, body, publicKey, now: Number(timestamp) * 1_000 });
}

describe("a test", () => {
  // Every type has its example in the domain.
  test.each(["channel.followed", "kicks.gifted"])(
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
      const { body, headers } = received();
      expect(new Webhook(app.webhook_secret).verify(body, headers)).toMatchObject({ type: name });
      // The id is signed: whoever forwards a sample cannot make an event of it.
      expect(headers["webhook-id"]).toMatch(/^test_[0-9A-Z]{26}$/);
      const [, v1a] = headers["webhook-signature"]?.split(" ") ?? [];
      expect([verifiedByKey(headers, body), v1a?.slice(0, 4)]).toEqual(["ok", "v1a,"]);
      const renamed = { ...headers, "webhook-id": headers["webhook-id"]?.slice("test_".length) ?? "" };
      expect(verifiedByKey(renamed, body)).toBe("no_matching_signature");
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

  test("is channel.followed by default, also without a body", async () => {
    await tested();
    expect(JSON.parse(received().body)).toMatchObject({ type: "channel.followed", version: 1 });
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
    expect(JSON.parse(received().body)).toMatchObject({
      type: "channel.raided",
      version: 3,
      data: { raiders: 12 },
    });
  });

  test("of a payload that the application chose is not signed with the platform's key, by which others know events", async () => {
    const data = { broadcaster: null, content: "what the platform never said" };
    const put = await server.admin("PUT", "/admin/v1/event-types/channel.announced", {
      version: 1,
      description: "An announcement.",
      schema: { type: "object" },
      example: { content: "what the platform says" },
    });
    expect(put.status).toBe(200);
    const signatures = () =>
      (received().headers["webhook-signature"] ?? "").split(" ").map((one) => one.split(",")[0]);
    await tested({ event: "channel.announced", data });
    const { body, headers } = received();
    expect(new Webhook(app.webhook_secret).verify(body, headers)).toMatchObject({ data });
    expect(signatures()).toEqual(["v1"]);
    await tested({ event: "channel.announced" });
    expect(signatures()).toEqual(["v1", "v1a"]);
  });

  test("shows neither the signature nor a secret", async () => {
    const { data } = await tested();
    const text = JSON.stringify(data);
    for (const signature of received().headers["webhook-signature"]?.split(" ") ?? [])
      expect(text).not.toContain(signature.split(",")[1] ?? "");
    for (const secret of [app.webhook_secret, app.client_secret, app.token])
      expect(text).not.toContain(secret);
  });

  test("leaves no delivery behind and says nothing of the endpoint", async () => {
    webhook.answer = () => new Response(null, { status: 500 });
    await tested();
    const listed = await json<{ data: unknown[] }>(
      await server.get("/public/v1/events/deliveries", app.token),
    );
    expect(listed.data).toEqual([]);
    expect(await server.app.store.endpoints.find(app.id)).toBeNull();
  });
});

describe("faults of the receiver", () => {
  test("a redirect is not followed, wherever it leads", async () => {
    const location = "http://169.254.169.254/latest/meta-data";
    webhook.answer = () => new Response(null, { status: 302, headers: { location } });
    const before = receiver.received.length;
    const { data } = await tested();
    const response = { status: 302, headers: { location }, body: "" };
    expect(data).toMatchObject({ delivered: false, response, outcome: "status" });
    expect(data.problem).toContain(`a redirect to ${location}, which is not followed`);
    expect(receiver.received.length).toBe(before + 1);
  });

  // `diagnosis.test.ts` has the other diagnoses.
  test("a status, and the body of the answer", async () => {
    webhook.answer = () => new Response("no such hook", { status: 404 });
    const { data } = await tested();
    expect(data.response).toMatchObject({ status: 404, body: "no such hook" });
    expect(data.problem).toContain("path");
  });

  test.each<[string, string, string]>([
    ["there is no server", "http://127.0.0.1:9/hook", "refused"],
    ["it speaks no TLS", "https", "tls"],
    ["the name does not resolve", "http://receiver.invalid/hook", "dns"],
  ])("%s", async (_, url, outcome) => {
    webhook.answer = () => new Response(null, { status: 204 });
    const webhook_url = url === "https" ? receiver.url.replace("http:", "https:") : url;
    const other = await server.application({ webhook_url });
    const { status, data } = await tested({}, other.token);
    expect([status, data.delivered, data.response]).toEqual([200, false, null]);
    expect(data.outcome).toBe(outcome);
    expect(data.problem).toBeString();
    if (url === "https")
      expect(data.problem).toContain("http or https? The receiver speaks no TLS on that port");
  });

  test("it speaks TLS, and sends an alert where it is spoken to without", async () => {
    const alert = Buffer.from("15030100020246", "hex");
    const listening = createServer((socket) =>
      socket.on("error", () => {}).once("data", () => socket.end(alert)),
    );
    await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
    const { port } = listening.address() as AddressInfo;
    const other = await server.application({ webhook_url: `http://127.0.0.1:${port}/hook` });
    const { data } = await tested({}, other.token);
    expect(data.problem).toContain("http or https?");
    listening.close();
  });
});

describe("the headers of the answer", () => {
  const shown = async (headers: Headers | [string, string][], body = "") => {
    webhook.answer = () => new Response(body, { status: 500, headers });
    return (await tested()).data.response ?? { headers: {}, body: "" };
  };

  test("are shown, several of one name together, without cookies", async () => {
    const given = new Headers({ "X-Powered-By": "Test", "Content-Type": "text/plain", "set-cookie": "id=1" });
    given.append("x-multi", "a");
    given.append("x-multi", "b");
    const { headers } = await shown(given);
    expect(headers).toMatchObject({
      "x-powered-by": "Test",
      "content-type": "text/plain",
      "x-multi": "a, b",
    });
    expect(headers).not.toHaveProperty("set-cookie");
  });

  test("are bounded in number and length", async () => {
    const many = Array.from({ length: 90 }, (_, i): [string, string] => [`x-${i}`, "v".repeat(i)]);
    const { headers } = await shown([["x-long", "v".repeat(5_000)], ...many]);
    expect(Object.keys(headers).length).toBeLessThanOrEqual(40);
    for (const value of Object.values(headers)) expect(value.length).toBeLessThanOrEqual(501);
  });

  test("do not repeat the signature, nor does the body, wherever it is cut", async () => {
    for (const before of [0, 900, 1_000, 1_020]) {
      webhook.answer = () => {
        const signature = received().headers["webhook-signature"] ?? "";
        return new Response("x".repeat(before) + signature, {
          status: 400,
          headers: { "x-echo": signature },
        });
      };
      const { data } = await tested();
      expect(data.response?.headers["x-echo"]).toBe("v1,(secret) v1a,(secret)");
      expect(Buffer.byteLength(data.response?.body ?? "")).toBeLessThanOrEqual(1_024);
      for (const one of (received().headers["webhook-signature"] ?? "").split(" ")) {
        const [, value = ""] = one.split(",");
        expect(JSON.stringify(data)).not.toContain(value.slice(0, 8));
      }
    }
  });
});

test("headers that an egress proxy adds to an answer are not shown", async () => {
  const proxy = ownListener(
    () =>
      new Response("", {
        status: 302,
        headers: { via: "1.1 proxy.internal", "x-cache": "MISS from 10.0.0.9", location: "/elsewhere" },
      }),
  );
  const behind = await ownServer({
    env: { ONAIR_WEBHOOK_PROXY: `http://user:pass@127.0.0.1:${proxy.port}` },
  });
  const { token } = await behind.application({ webhook_url: "http://receiver.example/hook" });
  const { data } = await json<{ data: Exchange }>(await behind.post(path, {}, token));
  expect(data.response).toEqual({ status: 302, headers: { location: "/elsewhere" }, body: "" });
  expect(JSON.stringify(data)).not.toMatch(/internal|10\.0\.0\.9|pass/);
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

  test.each([
    [{}, "has no webhook URL; set one"],
    [{ delivery: "stream" }, "only on the event stream"],
  ])("where nothing can be called, with the reason: %j", async (fields, reason) => {
    const { token } = await server.application(fields);
    const refused = { status: 409, code: "conflict", message: expect.stringContaining(reason) };
    expect(await tested({}, token)).toMatchObject(refused);
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
    const { message } = await json<{ message: string }>(limited);
    expect(message).toBe("Too many tests (at most 10 a minute); try again in 6 seconds");
    expect(await statusOf(two)).toBe(200);
  });
});

test("nothing is sent to an address that is not public, however the URL came to be", async () => {
  const guarded = await ownServer({ env: { ONAIR_ALLOW_PRIVATE_WEBHOOKS: "false" } });
  const made = await guarded.application({ webhook_url: "https://receiver.example/hook" });
  const changes = { webhook_url: receiver.url };
  await guarded.app.store.applications.update(made.id, changes, Date.now());
  const before = receiver.received.length;
  const { data } = await json<{ data: Exchange }>(await guarded.post(path, {}, made.token));
  expect(data).toMatchObject({ delivered: false, outcome: "blocked", response: null });
  expect(receiver.received.length).toBe(before);
});
