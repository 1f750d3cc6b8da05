import { describe, expect, spyOn, test } from "bun:test";
import { serverSentEvents } from "../../../src/client/stream.ts";
import { minute, second } from "../../../src/domain/time.ts";
import { streamPath } from "../../support/event-stream.ts";
import { type Exchange, testedWebhook, testWebhookPath } from "../../support/publishing.ts";
import { RawClient } from "../../support/raw-client.ts";
import { json, ownServer } from "../../support/server.ts";

const path = testWebhookPath;
const webhook = await testedWebhook();
const { app, clock, received, receiver, server, tested } = webhook;

describe("a test that is watched while it happens", () => {
  interface Step {
    event: string;
    data: Partial<Exchange> & { stage?: string; at_ms?: number };
  }

  async function* watched(token: string, body: object = {}): AsyncGenerator<Step> {
    clock.advance(6 * second);
    const response = await server.post(`${path}/stream`, body, token);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    for await (const { type, data } of serverSentEvents(response.body as ReadableStream<Uint8Array>))
      yield { event: type, data: JSON.parse(data ?? "null") };
  }

  test("the stages come while the receiver has not answered, and the whole exchange at the end", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    webhook.answer = () => held.then(() => new Response("thanks", { status: 200 }));
    const { port } = new URL(receiver.url);
    // A name, so that it is resolved.
    const named = await server.application({ webhook_url: `http://localhost:${port}/webhook` });
    const steps: Step[] = [];
    for await (const step of watched(named.token)) {
      steps.push(step);
      if (step.data.stage === "sent") {
        expect(steps.map(({ event, data }) => data.stage ?? event)).toEqual([
          "request",
          "dns",
          "connect",
          "sent",
        ]);
        release();
      }
    }
    expect(steps.slice(4).map(({ event, data }) => data.stage ?? event)).toEqual(["first_byte", "exchange"]);
    const times = steps.flatMap(({ data: { at_ms } }) => at_ms ?? []);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const [first, last] = [steps[0]?.data, steps.at(-1)?.data];
    expect(last).toMatchObject({ delivered: true, problem: null, response: { status: 200, body: "thanks" } });
    expect(first).toEqual(last?.request as object);
    const { "webhook-signature": signature = "", ...headers } = received().headers;
    expect(headers).toMatchObject(last?.request?.headers ?? {});
    expect(JSON.stringify(steps)).not.toContain(signature.split(" ")[0] ?? "");
  });

  test("a failure at a stage ends with its diagnosis", async () => {
    const other = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
    const steps = await Array.fromAsync(watched(other.token));
    expect(steps.map(({ event }) => event)).toEqual(["request", "exchange"]);
    expect(steps.at(-1)?.data).toMatchObject({ delivered: false, outcome: "refused", response: null });
  });

  test("a refusal is an error like any other, and counts for the same limit", async () => {
    const { token } = await server.application();
    const without = await server.post(`${path}/stream`, {}, token);
    expect([without.status, (await json<{ code: string }>(without)).code]).toEqual([409, "conflict"]);
    const unknown = await server.post(`${path}/stream`, { event: "no.such.event" }, app.token);
    expect(unknown.status).toBe(400);
    webhook.answer = () => new Response(null, { status: 204 });
    clock.advance(minute);
    for (let n = 0; n < 10; n++) {
      const response = await server.post(n % 2 ? path : `${path}/stream`, {}, app.token);
      expect([n, response.status]).toEqual([n, 200]);
      await response.text();
    }
    expect((await server.post(`${path}/stream`, {}, app.token)).status).toBe(429);
  });

  test("ends with its connection", async () => {
    clock.advance(minute);
    const head = `POST ${path}/stream HTTP/1.1\r\nHost: onair.example\r\nAuthorization: Bearer ${app.token}\r\n`;
    const [answered] = await new RawClient(server.publicUrl).send(`${head}Content-Length: 0\r\n\r\n`).toEnd();
    expect([answered?.status, answered?.body]).toEqual([200, expect.stringContaining("event: exchange\n")]);
  });

  test("keeps the idle timeout, so that a client that reads nothing of it is cut off", async () => {
    const set: [path: string, seconds: number][] = [];
    const serve = Bun.serve.bind(Bun);
    using _spy = spyOn(Bun, "serve").mockImplementation((options) => {
      const server = serve(options);
      const timeout = server.timeout.bind(server);
      return Object.assign(server, {
        timeout(request: Request, seconds: number) {
          set.push([new URL(request.url).pathname, seconds]);
          timeout(request, seconds);
        },
      });
    });
    const own = await ownServer();
    const { token } = await own.application({ webhook_url: receiver.url, delivery: "both" });
    const test = await own.post(`${path}/stream`, {}, token);
    expect(await test.text()).toContain("event: exchange\n");
    // An event stream has no end of its own, and cuts off who does not read.
    await (await own.get(streamPath, token)).body?.cancel();
    expect(set).toEqual([[streamPath, 0]]);
  });

  test("goes on when the client disconnects", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    webhook.answer = () => held.then(() => new Response(null, { status: 204 }));
    clock.advance(minute);
    for await (const { data } of watched(app.token)) if (data.stage === "sent") break;
    release();
    webhook.answer = () => new Response(null, { status: 204 });
    expect((await tested()).data.delivered).toBe(true);
  });
});
