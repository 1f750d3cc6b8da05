import { describe, expect, test } from "bun:test";
import { someTurns, until } from "../../support/until.ts";
import {
  body,
  bytesReceiver,
  delivery,
  rawReceiver,
  receiver,
  resolveTo,
  respond,
  sender,
} from "../fixtures/receiver.ts";

describe("the request", () => {
  test("is one POST of the bytes given, with the headers given", async () => {
    const target = await receiver((_, response) => response.end("thanks"));
    const result = await sender().send({
      url: `${target.url}hooks/on%20air?token=a%2Fb&x=%C3%A9`,
      headers: { "webhook-id": "01K", "webhook-signature": "v1,abc v1a,def", "Onair-Attempt": "3" },
      body,
    });
    expect(result).toMatchObject({ class: "ok", status: 200, error: null, responseBody: "thanks" });
    expect(result).toMatchObject({ retryAfterMs: null, repeated: false });
    expect(result.durationMs).toBeInteger();

    expect(target.requests).toHaveLength(1);
    const [received] = target.requests;
    expect(received).toMatchObject({ method: "POST", path: "/hooks/on%20air?token=a%2Fb&x=%C3%A9" });
    expect(received?.headers).toEqual({
      accept: "*/*",
      host: `hook.test:${target.port}`,
      connection: "keep-alive",
      "content-type": "application/json",
      "content-length": String(body.length),
      "user-agent": "onair/1.2.3",
      "webhook-id": "01K",
      "webhook-signature": "v1,abc v1a,def",
      "onair-attempt": "3",
    });
    expect(received?.body.equals(body)).toBe(true);
  });

  test("carries a large body, and an empty one", async () => {
    const target = await respond();
    const large = Buffer.alloc(3_000_000, "é");
    for (const sent of [large, new Uint8Array()]) {
      expect(await sender().send({ ...delivery(target.url), body: sent })).toMatchObject({ class: "ok" });
      expect(target.requests.pop()?.body.equals(sent)).toBe(true);
    }
  });

  test("is not written where it may not be any more: asked before it begins, and when it is connected", async () => {
    const target = await respond();
    const never = { ...delivery(target.url), mayBeSent: () => false };
    expect(await sender().send(never)).toMatchObject({ class: "canceled", status: null });
    expect(target.connections).toHaveLength(0);
    let asked = 0;
    const untilConnected = { ...delivery(target.url), mayBeSent: () => ++asked < 2 };
    expect(await sender().send(untilConnected)).toMatchObject({ class: "canceled", status: null });
    expect(asked).toBe(2);
    expect(target.requests).toHaveLength(0);
  });

  test("that cannot be made is a result, not an exception, and does not repeat its headers", async () => {
    const target = await respond();
    const result = await sender().send({ ...delivery(target.url), headers: { "x-secret": "hush\r\nx: y" } });
    expect(result).toMatchObject({ class: "internal", status: null, responseBody: "" });
    expect(result.error).not.toContain("hush");
    expect(target.connections).toHaveLength(0);
  });
});

describe("a header", () => {
  test.each([
    ["a value with CR", { "x-secret": "hush\rx: y" }],
    ["a value with LF", { "x-secret": "hush\nx: y" }],
    ["a value with NUL", { "x-secret": "hush\0" }],
    ["a value beyond Latin-1", { "x-secret": "hush\u{10d}\u{10a}" }],
    ["a name with a colon", { "x-secret:": "hush" }],
    ["a name with LF", { "x-secret\nx": "hush" }],
    ["an empty name", { "": "hush" }],
    ["a length of its own", { "Content-Length": "0" }],
    ["a framing of its own", { "transfer-encoding": "chunked" }],
    ["a host of its own", { HOST: "hush" }],
    ["a connection of its own", { connection: "close" }],
  ])("with %s is not sent, nor anything else", async (_, headers) => {
    const target = await respond();
    const one = sender();
    for (const _ of [1, 2]) {
      const result = await one.send({ ...delivery(target.url), headers: headers as Record<string, string> });
      expect(result).toMatchObject({ class: "internal", status: null });
      expect(result.error).not.toContain("hush");
    }
    expect(target.connections).toHaveLength(0);
  });

  test("of every request that cannot be sent is a mistake of the caller", () => {
    expect(() => sender({ userAgent: "on\r\nair" })).toThrow(TypeError);
    expect(() => sender({ proxy: "socks5://hush@proxy" })).toThrow(/^must be an http or https URL/);
  });
});

describe("the status decides", () => {
  test.each([200, 299])("%p is ok", async (code) => {
    const target = await respond(code);
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "ok",
      status: code,
      error: null,
      responseBody: "",
    });
  });

  test.each([400, 503])("%p is not", async (code) => {
    const target = await receiver((_, response) => response.writeHead(code).end("because"));
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "status",
      status: code,
      error: `The answer was ${code}.`,
      responseBody: "because",
    });
  });

  test.each([301, 308])("%p is not followed", async (code) => {
    const elsewhere = await respond();
    const target = await receiver((_, response) =>
      response.writeHead(code, { location: elsewhere.url }).end(),
    );
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "status",
      status: code,
      error: `The answer was ${code}. Redirects are not followed.`,
    });
    expect(target.requests).toHaveLength(1);
    expect(elsewhere.connections).toHaveLength(0);
  });

  test("an interim answer is passed over", async () => {
    const target = await bytesReceiver(
      "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    );
    expect(await sender().send(delivery(target.url))).toMatchObject({ class: "ok", status: 204 });
  });

  test.each([
    ["120", 120_000],
    ["Wed, 14 Jan 2026 16:10:06 GMT", 120_000],
    ["later", null],
  ])("Retry-After %p is handed on as %p ms", async (value, wait) => {
    const target = await receiver((_, response) => response.writeHead(429, { "retry-after": value }).end());
    const now = () => Date.UTC(2026, 0, 14, 16, 8, 6);
    expect(await sender({ now }).send(delivery(target.url))).toMatchObject({
      status: 429,
      retryAfterMs: wait,
    });
  });
});

describe("cut short", () => {
  test("by a resolver that throws", async () => {
    const resolve = () => {
      throw new Error("hush");
    };
    const result = await sender({ resolve }).send(delivery("http://hook.test/"));
    expect(result).toMatchObject({ class: "internal", status: null });
    expect(result.error).not.toContain("hush");
  });

  test("by a signal that was given before: nothing is sent", async () => {
    const target = await respond();
    expect(await sender().send(delivery(target.url), AbortSignal.abort())).toMatchObject({
      class: "canceled",
    });
    expect(target.connections).toHaveLength(0);
  });

  test("by a signal, at every stage", async () => {
    const target = await rawReceiver(() => {});
    let isAsked = false;
    const neverResolves = () => {
      isAsked = true;
    };
    const stages = [
      [neverResolves, () => isAsked],
      [resolveTo("127.0.0.1"), () => target.connections.length > 0],
    ] as const;
    for (const [resolve, isReached] of stages) {
      const stop = new AbortController();
      const result = sender({ resolve }).send(delivery(target.url), stop.signal);
      await until(isReached);
      stop.abort();
      expect(await result).toMatchObject({ class: "canceled", status: null });
    }
    await target.connections[0]?.closed;
  });

  test("while the name is resolved: there is no connection to its address", async () => {
    const target = await respond();
    const late = Promise.withResolvers<() => void>();
    const stop = new AbortController();
    const result = sender({
      resolve: (_name, _options, callback) =>
        late.resolve(() => callback(null, [{ address: "127.0.0.1", family: 4 }])),
    }).send(delivery(target.url), stop.signal);
    const answer = await late.promise;
    stop.abort();
    expect(await result).toMatchObject({ class: "canceled" });
    answer();
    await sender().send(delivery(target.url));
    expect(target.connections).toHaveLength(1);
  });

  test("after the status: the delivery is ok", async () => {
    const stop = new AbortController();
    const target = await receiver((_, response) => {
      response.writeHead(200).write("a");
      void someTurns().then(() => stop.abort());
    });
    expect(await sender().send(delivery(target.url), stop.signal)).toMatchObject({
      class: "ok",
      status: 200,
    });
  });

  test("by close, with the connections that are kept", async () => {
    const target = await respond();
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    one.close();
    await target.connections[0]?.closed;
  });

  test("by close, which is for good", async () => {
    const target = await rawReceiver(() => one.close());
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "canceled" });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "canceled", durationMs: 0 });
    await target.connections[0]?.closed;
    expect(target.connections).toHaveLength(1);
  });
});
