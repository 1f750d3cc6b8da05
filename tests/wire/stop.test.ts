import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RawClient } from "../support/raw-client.ts";
import { largeBody, SmallListener } from "../support/small-listener.ts";
import { until } from "../support/until.ts";
import { get, request } from "../support/wire.ts";

/** How the server ends, and whose its port is. */

let server: SmallListener;

beforeAll(() => {
  server = new SmallListener();
});
afterAll(() => server.listening.stop(0));

describe("stop", () => {
  /** A server with clients at every stage of a request. */
  async function busy() {
    const own = new SmallListener();
    const connect = (text: string) => new RawClient(own.url).send(text);
    const stages = {
      silent: connect(""),
      idle: connect(get("/hello")),
      head: connect("GET /hel"),
      body: connect(`${request("POST", "/echo", "Content-Length: 3")}a`),
      answering: connect(get("/wait")),
      streaming: connect(get("/stream")),
      blocked: connect(get("/large")),
    };
    stages.blocked.socket.pause();
    await stages.idle.answers();
    await until(() => own.events.includes("waits") && stages.streaming.text !== "");
    return { own, stages };
  }

  test("ends what is idle, and lets what is under way come to its end", async () => {
    const { own, stages } = await busy();
    const { silent, idle, head, body, answering, streaming, blocked } = stages;
    let isStopped = false;
    const stopped = own.listening.stop(60_000).then(() => {
      isStopped = true;
    });
    await until(() => [silent, idle, head, body].every((one) => one.hasEnded));
    expect([silent.text, head.text, body.text]).toEqual(["", "", ""]);
    await Bun.sleep(20);
    expect([answering, streaming, blocked].map((one) => one.hasEnded)).toEqual([false, false, false]);
    expect(isStopped).toBe(false);
    // It is not to be had any more.
    const late = new RawClient(own.url);
    await until(() => late.isClosed);
    own.release();
    own.stream?.close();
    blocked.socket.resume();
    const [waited] = await answering.answers();
    expect([waited?.body, waited?.headers.get("connection")]).toEqual(['"waited"', "close"]);
    expect((await streaming.answers())[0]?.body).toBe("");
    expect((await blocked.answers())[0]?.body.length).toBe(largeBody.length);
    for (const one of Object.values(stages)) one.socket.end();
    await stopped;
  });

  test("cuts off what takes longer than it may", async () => {
    const { own, stages } = await busy();
    await own.listening.stop(50);
    await until(() =>
      Object.values(stages).every((one) => one.hasEnded || one.isClosed || one.socket.isPaused()),
    );
    expect(own.events).toContain("canceled");
    expect(stages.answering.text).toBe("");
  });

  test("may be called twice, and the second time with less patience", async () => {
    const { own } = await busy();
    const first = own.listening.stop(60_000);
    await own.listening.stop(0);
    await first;
  });

  test("with nobody there is at once, and frees the port", async () => {
    const own = new SmallListener();
    const { port } = own.listening;
    await own.listening.stop(60_000);
    const next = new SmallListener(undefined, port);
    await next.listening.stop(0);
  });
});

describe("the port", () => {
  test("cannot be had twice", () => {
    const { port } = server.listening;
    for (const reusePort of [false, true]) {
      expect(() => new SmallListener(undefined, port, reusePort)).toThrow("another program has it");
    }
  });

  test("is shared by those who all say so, in several threads", async () => {
    const program = new URL("../support/small-listener-worker.ts", import.meta.url).href;
    const start = async (port: number) => {
      const worker = new Worker(program);
      const { promise, resolve } = Promise.withResolvers<number>();
      worker.onmessage = ({ data }) => resolve(data as number);
      worker.postMessage(port);
      return { worker, port: await promise };
    };
    const one = await start(0);
    const two = await start(one.port);
    const seen = new Map<string, number>();
    for (let i = 0; i < 100; i++) {
      const answer = await fetch(`http://127.0.0.1:${one.port}/hello`, { headers: { connection: "close" } });
      const thread = answer.headers.get("x-thread") ?? "";
      seen.set(thread, (seen.get(thread) ?? 0) + 1);
    }
    expect(two.port).toBe(one.port);
    expect(seen.size).toBe(2);
    for (const { worker } of [one, two]) worker.terminate();
  });
});
