import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { CrowdLimits } from "../../src/wire/crowd.ts";
import { serveWire, type WireServer } from "../../src/wire/serve.ts";
import { Tally } from "../../src/wire/tally.ts";
import { timeouts } from "../../src/wire/timeouts.ts";
import { RawClient } from "../support/raw-client.ts";
import { until } from "../support/until.ts";
import { get, ok, unlimited } from "../support/wire.ts";

/** What connections may take, on real sockets and with a clock that stands still until it is moved. */

const megabyte = 1024 * 1024;
const large = "x".repeat(megabyte);

class LimitedServer {
  readonly tally = new Tally();
  ms = 0;
  readonly #wire: WireServer;
  readonly #clients: RawClient[] = [];

  constructor(limits: Partial<CrowdLimits> = {}) {
    this.#wire = serveWire({
      hostname: "127.0.0.1",
      port: 0,
      answerer: {
        answer: ({ target }) =>
          ok(target === "/large" ? large : target === "/huge" ? large.repeat(16) : target),
        refuse: ({ status, code }) => ({ ...ok(code), status }),
        turnAway: () => ({ ...ok("no place"), status: 503 }),
      },
      crowd: {
        limits: { ...unlimited, ...limits },
        tally: this.tally,
        hasDescriptor: () => true,
        warn() {},
      },
      now: () => this.ms,
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#wire.port}`;
  }

  client(text = ""): RawClient {
    const client = new RawClient(this.url).send(text);
    this.#clients.push(client);
    return client;
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.reset();
    await this.#wire.stop(0);
  }
}

let server: LimitedServer;
afterEach(() => server.stop());

describe("places", () => {
  test("who finds none is answered 503 and closed, and is let in when there is one again", async () => {
    server = new LimitedServer({ connections: 3 });
    const inside = Array.from({ length: 3 }, () => server.client(get("/a")));
    for (const one of inside) await one.answers();
    const outside = server.client(get("/b"));
    const [answer] = await outside.answers();
    expect([answer?.status, answer?.headers.get("connection"), answer?.body]).toEqual([
      503,
      "close",
      "no place",
    ]);
    await outside.toEnd();
    // One that says nothing is told, too.
    expect(await server.client().toEnd()).toStartWith("HTTP/1.1 503 ");
    expect(server.tally.refusals.limit).toBe(2);
    inside[0]?.reset();
    await until(async () => {
      const next = server.client(get("/c"));
      return (await next.answers())[0]?.status === 200;
    });
    for (const one of inside.slice(1)) expect((await one.send(get("/d")).answers(2))[1]?.body).toBe("/d");
  });

  test("one address has no more than its share, another one has its own", async () => {
    server = new LimitedServer({ perClient: 2 });
    const inside = [server.client(get("/a")), server.client(get("/a"))];
    for (const one of inside) await one.answers();
    expect((await server.client(get("/b")).answers())[0]?.status).toBe(503);
    const { hostname, port } = new URL(server.url);
    const other = connect({ host: hostname, port: Number(port), localAddress: "127.0.0.2" });
    let text = "";
    other.on("data", (bytes) => {
      text += bytes;
    });
    other.write(get("/c"));
    await until(() => text.endsWith("/c"));
    expect(text).toStartWith("HTTP/1.1 200 OK");
    other.destroy();
    expect(server.tally.refusals).toEqual({ limit: 0, client: 1 });
  });

  test("a flood beyond them leaves those inside alone", async () => {
    server = new LimitedServer({ connections: 10 });
    const inside = server.client(get("/a"));
    await inside.answers();
    const flood = Array.from({ length: 500 }, () => server.client(get("/b")));
    await until(() => flood.every((one) => one.hasEnded || one.isClosed || one.text.includes(" 200 ")));
    expect(flood.filter((one) => one.text.includes(" 200 "))).toHaveLength(9);
    expect(server.tally.refusals.limit).toBe(491);
    expect((await inside.send(get("/c")).answers(2))[1]?.body).toBe("/c");
  });
});

test("what all hold together is bounded: whoever reads nothing is cut off, and others get theirs", async () => {
  server = new LimitedServer({ heldBytes: 32 * megabyte });
  const greedy = Array.from({ length: 12 }, () => server.client());
  for (const one of greedy) {
    one.socket.pause();
    one.send(get("/huge"));
  }
  await until(() => server.tally.cuts.memory >= 6);
  expect((await server.client(get("/large")).answers())[0]?.body === large).toBe(true);
  await until(() => server.tally.heldBytes > 0);
  expect(server.tally.heldBytes).toBeLessThanOrEqual(32 * megabyte);
});

test("a client that stops taking its answer is cut off, and sees that it has not all of it", async () => {
  server = new LimitedServer();
  const slow = server.client(get("/huge"));
  await until(() => slow.text !== "");
  slow.socket.pause();
  await until(() => server.tally.heldBytes > 0);
  server.ms += timeouts.blockedMs;
  await until(() => server.tally.open === 0);
  slow.socket.resume();
  await until(() => slow.isClosed);
  expect(server.tally.cuts.slow).toBe(1);
  expect(slow.text).toContain(`content-length: ${16 * megabyte}`);
  expect(slow.text.length).toBeLessThan(16 * megabyte);
});

test("a last answer that is still on its way is not lost when the client takes its time", async () => {
  server = new LimitedServer();
  const slow = server.client();
  slow.socket.pause();
  slow.send(get("/large", "Connection: close"));
  await Bun.sleep(50);
  // By now the system has all of it, and the client nothing.
  server.ms += timeouts.closingMs + 1;
  await until(() => server.tally.open === 0 && server.tally.heldBytes === 0);
  await Bun.sleep(1_100);
  slow.socket.resume();
  expect((await slow.answers())[0]?.body === large).toBe(true);
  expect(server.tally.cuts.slow).toBe(0);
});
