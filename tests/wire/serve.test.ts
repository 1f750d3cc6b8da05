import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { serveWire } from "../../src/wire/serve.ts";
import { RawClient } from "../support/raw-client.ts";
import { largeBody, SmallListener } from "../support/small-listener.ts";
import { until } from "../support/until.ts";
import { get, ok, request } from "../support/wire.ts";

/** The server on real sockets, with the real public listener behind it. */

let server: SmallListener;
const clients: RawClient[] = [];
const client = (text = "") => {
  const one = new RawClient(server.url).send(text);
  clients.push(one);
  return one;
};

/** That others are answered as if nothing were the matter. */
async function expectService(): Promise<void> {
  const [answer] = await client(get("/hello")).answers();
  expect(answer?.body).toBe('"hello"');
}

beforeAll(() => {
  server = new SmallListener();
});
afterEach(() => {
  for (const one of clients) one.reset();
  clients.length = 0;
  server.events.length = 0;
});
afterAll(() => server.listening.stop(0));

describe("connections", () => {
  test("serve one request after the other, and those that come together", async () => {
    const one = client(get("/hello"));
    await one.answers();
    one.send(request("POST", "/echo", "Content-Length: 3")).send("abc");
    expect((await one.answers(2)).at(-1)?.body).toBe("abc");
    one.send((get("/hello") + get("/nothing")).repeat(100));
    const statuses = (await one.answers(202)).map(({ status }) => status);
    expect(statuses).toEqual([200, 200, ...Array(100).fill([200, 204]).flat()]);
  });

  test("serve a request that comes byte by byte", async () => {
    const one = client();
    one.socket.setNoDelay(true);
    for (const byte of `${request("POST", "/echo", "Transfer-Encoding: chunked")}3\r\nabc\r\n0\r\n\r\n`) {
      one.send(byte);
      await Bun.sleep(0);
    }
    expect((await one.answers())[0]?.body).toBe("abc");
  });

  test("are told to send a body that they ask leave for", async () => {
    const one = client(request("POST", "/echo", "Content-Length: 3", "Expect: 100-continue"));
    await until(() => one.text !== "");
    expect(one.text).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    const answers = await one.send("abc").answers();
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [100, ""],
      [200, "abc"],
    ]);
  });

  test("are told at once that a body is too large, and then closed", async () => {
    for (const lines of [["Content-Length: 65537"], ["Content-Length: 65537", "Expect: 100-continue"]]) {
      const one = client(request("POST", "/echo", ...lines));
      const [answer] = await one.answers();
      expect([answer?.status, answer?.headers.get("connection")]).toEqual([413, "close"]);
      await one.toEnd();
    }
    // While it is still being sent, too: the answer is not lost.
    const sending = client(request("POST", "/echo", "Transfer-Encoding: chunked"));
    sending.send(`4000\r\n${"x".repeat(0x4000)}\r\n`.repeat(64));
    expect((await sending.answers())[0]?.status).toBe(413);
  });

  test("get the whole of a large answer, however slowly they read", async () => {
    const text = Buffer.from(largeBody).toString("latin1");
    const fast = client(get("/large"));
    const slow = client(get("/large") + get("/hello"));
    slow.socket.pause();
    const [answer] = await fast.answers();
    expect(answer?.body === text).toBe(true);
    await expectService();
    slow.socket.resume();
    const answers = await slow.answers(2);
    expect(answers[0]?.body === text).toBe(true);
    expect(answers[1]?.body).toBe('"hello"');
  });

  test("that never read keep nobody waiting", async () => {
    for (let i = 0; i < 20; i++) {
      const one = client(get("/large").repeat(1_000));
      one.socket.pause();
    }
    for (let i = 0; i < 20; i++) await expectService();
  });

  test("answer HEAD with the head of GET", async () => {
    for (const path of ["/hello", "/large", "/nothing", "/stream", "/throws", "/none", "/hello?a=b"]) {
      const got = client(get(path));
      await until(() => got.text.includes("\r\n\r\n"));
      const headOf = (text: string) =>
        text.slice(0, text.indexOf("\r\n\r\n") + 4).replace(/^(?:date|x-request-id): .*\r\n/gm, "");
      const head = client(request("HEAD", path) + get("/hello", "Connection: close"));
      const text = await head.toEnd();
      expect(headOf(text)).toBe(headOf(got.text));
      // The next answer follows at once.
      expect(text.slice(text.indexOf("\r\n\r\n") + 4)).toStartWith("HTTP/1.1 200 OK\r\n");
    }
  });
});

describe("a client that sends nothing more", () => {
  test.each([
    ["at once", "", 0],
    ["in a head", "GET /hello HTT", 0],
    ["in a body", `${request("POST", "/echo", "Content-Length: 3")}a`, 0],
    ["behind a request", get("/hello"), 1],
    ["behind three and a half", `${get("/hello").repeat(3)}GET`, 3],
  ])("%s gets its answers, and then the end", async (_, text, count) => {
    const one = client(text);
    one.socket.end();
    await until(() => one.hasEnded);
    expect(await one.answers(count)).toHaveLength(count);
  });

  test("gets an answer that takes time, and a large one", async () => {
    const waiting = client(get("/wait"));
    waiting.socket.end();
    const large = client(get("/large"));
    large.socket.end();
    await until(() => server.events.includes("waits"));
    server.release();
    expect((await waiting.answers())[0]?.body).toBe('"waited"');
    expect((await large.answers())[0]?.body.length).toBe(largeBody.length);
    await until(() => waiting.hasEnded && large.hasEnded);
  });

  test("gets no stream, which has no end", async () => {
    const one = client(get("/stream"));
    await until(() => one.text !== "");
    one.socket.end();
    await until(() => server.events.includes("canceled") && one.isClosed);
    server.events.length = 0;
    // Which of the two comes first, the stream or the end, is nobody's to say.
    const two = client(get("/hello") + get("/stream"));
    two.socket.end();
    await until(() => server.events.includes("canceled") && two.isClosed);
    expect(two.text).toContain('"hello"');
    expect(two.text).not.toContain("\r\n0\r\n");
  });
});

describe("a client that is gone", () => {
  test.each([
    ["at once", ""],
    ["in a head", "GET /hel"],
    ["in a body", `${request("POST", "/echo", "Content-Length: 30")}abc`],
    ["with an answer on its way", get("/large")],
    ["with many requests", get("/large").repeat(10_000)],
    ["behind the last answer", get("/hello", "Connection: close")],
    ["behind what was refused", "\n"],
  ])("%s is forgotten", async (_, text) => {
    const gone = Array.from({ length: 10 }, () => client(text));
    for (const one of gone) one.socket.pause();
    await Bun.sleep(5);
    for (const one of gone) one.reset();
    await expectService();
  });

  test("while its answer is made", async () => {
    const one = client(get("/wait"));
    await until(() => server.events.includes("waits"));
    one.reset();
    await Bun.sleep(5);
    server.release();
    await expectService();
  });

  test.each(["reset", "destroy"] as const)("by %s has its stream canceled", async (how) => {
    const one = client(get("/stream"));
    await until(() => one.text !== "" && server.stream !== null);
    server.stream?.enqueue(new TextEncoder().encode("hello"));
    await until(() => one.text.includes("hello"));
    if (how === "reset") one.reset();
    else one.socket.destroy();
    await until(() => server.events.includes("canceled"));
    await expectService();
  });
});

describe("what goes wrong behind it", () => {
  test("a stream that breaks off breaks the connection", async () => {
    const one = client(get("/stream"));
    await until(() => one.text !== "" && server.stream !== null);
    server.stream?.enqueue(new TextEncoder().encode("hello"));
    await until(() => one.text.includes("hello"));
    server.stream?.error(new Error("secret detail"));
    await until(() => one.isClosed);
    expect(one.text).toEndWith("5\r\nhello\r\n");
    await expectService();
  });

  test("a handler that throws is a 500, and the connection goes on", async () => {
    const answers = await client(get("/throws") + get("/hello")).answers(2);
    expect(answers.map(({ status }) => status)).toEqual([500, 200]);
    expect(answers[0]?.body).not.toContain("secret");
  });
});

test("a request that does not arrive in time is told so", async () => {
  let ms = 0;
  const refuse = ({ status, code }: { status: number; code: string }) => ({ ...ok(code), status });
  const wire = serveWire({
    hostname: "127.0.0.1",
    port: 0,
    answerer: { answer: () => ok("never"), refuse, turnAway: () => ok("no place") },
    now: () => ms,
  });
  const one = new RawClient(`http://127.0.0.1:${wire.port}`).send("GET / HTTP/1.1\r\n");
  // The clock of the server stands still until the head has begun to arrive.
  await Bun.sleep(50);
  ms += 16_000;
  expect((await one.answers())[0]).toMatchObject({ status: 408, body: "request_timeout" });
  await one.toEnd();
  await wire.stop(0);
});
