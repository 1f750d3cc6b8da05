import { afterEach, describe, expect, test } from "bun:test";
import {
  body,
  bytesReceiver,
  closeAll,
  delivery,
  rawReceiver,
  receiver,
  resolveTo,
  sender,
} from "../fixtures/receiver.ts";

afterEach(closeAll);

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
    const target = await receiver((_, response) => response.end());
    const large = Buffer.alloc(3_000_000, "é");
    for (const sent of [large, new Uint8Array()]) {
      expect(await sender().send({ ...delivery(target.url), body: sent })).toMatchObject({ class: "ok" });
      expect(target.requests.pop()?.body.equals(sent)).toBe(true);
    }
  });

  test("that cannot be made is a result, not an exception, and does not repeat its headers", async () => {
    const target = await receiver((_, response) => response.end());
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
    const target = await receiver((_, response) => response.end());
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
  test.each([200, 201, 202, 204, 299])("%p is ok", async (code) => {
    const target = await receiver((_, response) => response.writeHead(code).end());
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "ok",
      status: code,
      error: null,
      responseBody: "",
    });
  });

  test.each([400, 404, 410, 500, 503])("%p is not", async (code) => {
    const target = await receiver((_, response) => response.writeHead(code).end("because"));
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "status",
      status: code,
      error: `The answer was ${code}.`,
      responseBody: "because",
    });
  });

  test.each([301, 302, 303, 307, 308])("%p is not followed", async (code) => {
    const elsewhere = await receiver((_, response) => response.end());
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

describe("the time allowed", () => {
  test("is over for a receiver that never answers, which then sees the connection closed", async () => {
    const target = await rawReceiver(() => {});
    const result = await sender({ timeoutMs: 300 }).send(delivery(target.url));
    expect(result).toMatchObject({
      class: "timeout",
      status: null,
      error: "The time of 0.3 s was over while waiting for the answer.",
    });
    expect(result.durationMs).toBeGreaterThanOrEqual(299);
    expect(target.requests).toHaveLength(1);
    await target.connections[0]?.closed;
  });

  test("covers headers that come drop by drop", async () => {
    const target = await rawReceiver((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nx-slow: ");
      const drip = setInterval(() => socket.write("a"), 5);
      socket.on("close", () => clearInterval(drip));
    });
    expect(await sender({ timeoutMs: 100 }).send(delivery(target.url))).toMatchObject({
      class: "timeout",
      status: null,
    });
    await target.connections[0]?.closed;
  });

  test.each([
    [200, "ok"],
    [500, "status"],
  ])("ends a body that comes drop by drop, and the %p before it stands", async (code, kind) => {
    const target = await receiver((_, response) => {
      response.writeHead(code).write("slow");
      const drip = setInterval(() => response.write("a"), 5);
      response.on("close", () => clearInterval(drip));
    });
    const result = await sender({ timeoutMs: 400 }).send(delivery(target.url));
    expect(result as object).toMatchObject({ class: kind, status: code });
    expect(result.responseBody).toStartWith("slow");
    expect(result.durationMs).toBeGreaterThanOrEqual(399);
    await target.connections[0]?.closed;
  });

  test("is each attempt's own: hundreds that hang do not delay another", async () => {
    const hanging = await rawReceiver(() => {});
    const healthy = await receiver((_, response) => response.end());
    const one = sender();
    const stuck = Array.from({ length: 400 }, () => one.send(delivery(hanging.url)));
    expect((await one.send(delivery(healthy.url))).class).toBe("ok");
    one.close();
    for (const result of await Promise.all(stuck)) expect(result.class).toBe("canceled");
  });
});

describe("the body of an answer", () => {
  test("is read to 16 KiB, of which 1 KiB is handed back", async () => {
    const gigabyte = 1_000_000_000;
    const piece = Buffer.alloc(65_536, "x");
    let written = 0;
    const target = await receiver((_, response) => {
      response.writeHead(200, { "content-length": gigabyte });
      const pour = () => {
        while (written < gigabyte && !response.destroyed) {
          written += piece.length;
          if (!response.write(piece)) return;
        }
      };
      response.on("drain", pour);
      pour();
    });
    const result = await sender().send(delivery(target.url));
    await target.connections[0]?.closed;
    expect(result).toMatchObject({ class: "ok", status: 200, error: null, responseBody: "x".repeat(1_024) });
    // What left the receiver is in the buffers of the two kernels' ends.
    expect(written).toBeLessThan(32_000_000);
  });

  test("of 16 KiB leaves the connection in use, a longer one does not", async () => {
    let length = 16_384;
    const target = await receiver((_, response) => response.end(Buffer.alloc(length, "x")));
    const one = sender();
    for (const connections of [1, 1, 1]) {
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
      expect(target.connections).toHaveLength(connections);
    }
    length = 16_385;
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    await target.connections[0]?.closed;
  });

  test.each([
    ["short of its length", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc", true],
    [
      "with a malformed chunk",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
      false,
    ],
    [
      "with endless trailers",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx: ${"x".repeat(70_000)}`,
      false,
    ],
  ])("%s does not undo the status", async (_, bytes, close) => {
    const target = await bytesReceiver(bytes, { close });
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "ok",
      status: 200,
      repeated: false,
    });
    await target.connections[0]?.closed;
  });

  test("is text: cut between characters, without NUL, whatever it was", async () => {
    const answers = ["é".repeat(4), "\0a\0", Buffer.from([0x61, 0xff, 0x62]), "🎉🎉"];
    const target = await receiver((_, response) => response.end(answers.shift()));
    const one = sender({ keepBytes: 7 });
    const texts: string[] = [];
    while (answers.length > 0) texts.push((await one.send(delivery(target.url))).responseBody);
    expect(texts).toEqual(["ééé", "\ufffda\ufffd", "a\ufffdb", "🎉"]);
  });
});

describe("an answer that is none", () => {
  test.each([
    ["garbage", "hello there\r\n\r\n", "protocol"],
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n", "protocol"],
    [
      "a switch of protocols",
      "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      "protocol",
    ],
    ["headers beyond 16 KiB", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(17_000)}\r\n\r\n`, "too_large"],
    ["headers without end", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(15_000)}`, "too_large"],
    [
      "interim answers without end",
      "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(2_000),
      "too_large",
    ],
    ["nothing but blank lines", "\r\n".repeat(40_000), "too_large"],
  ])("%s", async (_, bytes, kind) => {
    const target = await bytesReceiver(bytes);
    const result = await sender().send(delivery(target.url));
    expect(result as object).toMatchObject({ class: kind, status: null, responseBody: "", repeated: false });
    expect(result.error).toBeString();
    await target.connections[0]?.closed;
  });

  test.each([
    ["a reset", (socket: { resetAndDestroy(): unknown }) => socket.resetAndDestroy()],
    ["a close", (socket: { end(): unknown }) => socket.end()],
    ["half a header", (socket: { end(bytes: string): unknown }) => socket.end("HTTP/1.1 200 OK\r\nx: ")],
  ])("%s, on a new connection, is not repeated", async (_, answer) => {
    const target = await rawReceiver(answer);
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "reset",
      status: null,
      error: "The connection was closed while waiting for the answer.",
      repeated: false,
    });
    expect(target.requests).toHaveLength(1);
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
    const target = await receiver((_, response) => response.end());
    expect(await sender().send(delivery(target.url), AbortSignal.abort())).toMatchObject({
      class: "canceled",
    });
    expect(target.connections).toHaveLength(0);
  });

  test("by a signal, at every stage", async () => {
    const target = await rawReceiver(() => {});
    for (const resolve of [() => {}, resolveTo("127.0.0.1")]) {
      const stop = new AbortController();
      const result = sender({ resolve }).send(delivery(target.url), stop.signal);
      setTimeout(() => stop.abort(), 20);
      expect(await result).toMatchObject({ class: "canceled", status: null });
    }
    await target.connections[0]?.closed;
  });

  test("while the name is resolved: what it resolves to is not called", async () => {
    const target = await receiver((_, response) => response.end());
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

  test("after the status: it stands", async () => {
    const stop = new AbortController();
    const target = await receiver((_, response) => {
      response.writeHead(200).write("a");
      setTimeout(() => stop.abort(), 20);
    });
    expect(await sender().send(delivery(target.url), stop.signal)).toMatchObject({
      class: "ok",
      status: 200,
    });
  });

  test("by close, with the connections that are kept", async () => {
    const target = await receiver((_, response) => response.end());
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
