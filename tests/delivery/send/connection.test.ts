import { describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { type Connection, Pool, writeInBatch } from "../../../src/delivery/send/connection.ts";
import { someTurns } from "../../support/until.ts";
import {
  bytesReceiver,
  certificate,
  delivery,
  rawReceiver,
  receiver,
  resolveInTurn,
  respond,
  sender,
} from "../fixtures/receiver.ts";

const ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

describe("a kept connection", () => {
  test("is used again: no resolving, no connecting", async () => {
    for (const tls of [false, true]) {
      const target = await respond(200, { tls });
      const { resolve, asked } = resolveInTurn(["127.0.0.1"]);
      const one = sender({ resolve, ca: certificate });
      const first = await one.send(delivery(target.url));
      expect(first).toMatchObject({ class: "ok", repeated: false });
      expect(first.timings.connectMs).toBeNumber();
      expect(first.timings.firstByteMs).toBeNumber();
      expect(typeof first.timings.tlsMs).toBe(tls ? "number" : "object");

      const second = await one.send(delivery(target.url));
      expect(second).toMatchObject({ class: "ok", repeated: false });
      expect(second.timings).toMatchObject({ dnsMs: null, connectMs: null, tlsMs: null });
      expect(second.timings.firstByteMs).toBeNumber();
      expect(target.connections).toHaveLength(1);
      expect(asked).toEqual(["hook.test"]);
    }
  });

  test("gathers no listeners over its many uses", async () => {
    const target = await respond();
    const one = sender();
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    for (let attempt = 1; attempt <= 30; attempt++) await one.send(delivery(target.url));
    await someTurns();
    process.off("warning", note);
    expect(target.connections).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  test("is not kept where the receiver says so", async () => {
    const target = await receiver((_, response) => response.writeHead(200, { connection: "close" }).end());
    const one = sender();
    for (const connections of [1, 2]) {
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: false });
      expect(target.connections).toHaveLength(connections);
    }
  });

  test("serves one attempt at a time", async () => {
    const target = await respond();
    const one = sender();
    await Promise.all(Array.from({ length: 20 }, () => one.send(delivery(target.url))));
    expect(target.connections).toHaveLength(20);
    await Promise.all(Array.from({ length: 20 }, () => one.send(delivery(target.url))));
    expect(target.connections).toHaveLength(20);
  });

  test("that the receiver closes when it is used again costs no failure", async () => {
    for (const how of ["end", "resetAndDestroy"] as const) {
      const target = await rawReceiver((socket, count) => (count === 1 ? socket.write(ok) : socket[how]()));
      const one = sender();
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: false });
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: true });
      expect(target.connections).toHaveLength(2);
      const ids = target.requests.map(({ body }) => /^webhook-id: (.*)$/m.exec(body.toString())?.[1]);
      expect(ids).toEqual(Array(3).fill("01KEYF5T7Z2X4Q8R6W3M1N0PVC"));
    }
  });

  test("that broke is replaced by a new one, as other idle ones may be broken too", async () => {
    const target = await rawReceiver((socket, count) => (count === 1 ? socket.write(ok) : socket.end()));
    const one = sender();
    await Promise.all([1, 2, 3].map(() => one.send(delivery(target.url))));
    expect(target.connections).toHaveLength(3);
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: true });
    expect(target.requests).toHaveLength(5);
  });

  test("that broke is replaced once, not for ever", async () => {
    let requests = 0;
    const target = await rawReceiver((socket) => {
      requests += 1;
      if (requests === 1) socket.write(ok);
      else socket.resetAndDestroy();
    });
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "reset", repeated: true });
    expect(requests).toBe(3);
  });

  test("that broke amid an answer is not replaced: the receiver has read the request", async () => {
    const target = await rawReceiver((socket, count) =>
      count === 1 ? socket.write(ok) : socket.end("HTTP/1.1 200 OK\r\nx: "),
    );
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "reset", repeated: false });
    expect(target.requests).toHaveLength(2);
  });

  test("and the one after it share the time allowed", async () => {
    const target = await rawReceiver((socket, count) => {
      if (target.connections.length > 1) return;
      if (count === 1) socket.write(ok);
      else socket.end();
    });
    const one = sender({ timeoutMs: 400 });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "timeout", repeated: true });
  });

  test("that the receiver closes meanwhile is not used again", async () => {
    const target = await rawReceiver((socket) => socket.write(ok));
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    target.connections[0]?.socket.end();
    await target.connections[0]?.closed;
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(target.requests).toHaveLength(2);
  });

  test("does not read unrequested bytes as the next response", async () => {
    const target = await rawReceiver((socket) => socket.write(ok + ok.replace("200 OK", "500 Oops")));
    const one = sender();
    for (let attempt = 1; attempt <= 3; attempt++) {
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", status: 200 });
    }
  });

  test("is closed when the receiver answered without reading the request", async () => {
    const target = await rawReceiver((socket, count) => {
      if (count > 1) return;
      socket.pause();
      socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n");
    });
    const large = new Uint8Array(30_000_000);
    const result = await sender().send({ ...delivery(target.url), body: large });
    expect(result).toMatchObject({ class: "status", status: 413 });
    // The close comes after what was sent before it.
    target.connections[0]?.socket.resume();
    await target.connections[0]?.closed;
  });
});

describe("idle connections", () => {
  test("are closed when the receiver has announced that it will", async () => {
    const target = await rawReceiver((socket) =>
      socket.write("HTTP/1.1 204 No Content\r\nkeep-alive: timeout=2\r\n\r\n"),
    );
    const one = sender();
    const startedAt = performance.now();
    for (const _ of [1, 2]) expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(target.connections).toHaveLength(1);
    await target.connections[0]?.closed;
    // A second before it would; unannounced, it would be kept for 5.
    expect(performance.now() - startedAt).toBeWithin(950, 4_000);
  });

  test.each([
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-length: 1\r\n\r\n"],
    [
      "a length and chunks",
      `HTTP/1.1 200 OK\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"],
    ["bytes beyond the answer", `${ok}x`],
  ])("are closed at once after an answer with %s", async (_, bytes) => {
    const target = await bytesReceiver(bytes);
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", status: 200 });
    await target.connections[0]?.closed;
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: false });
  });

  test("are closed when the receiver speaks unasked", async () => {
    const target = await rawReceiver((socket) => socket.write(ok));
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    target.connections[0]?.socket.write(ok);
    await target.connections[0]?.closed;
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: false });
  });
});

/** The fields of a connection that a pool reads. */
function connectionTo(origin: string) {
  const connection = {
    destination: { origin },
    isOpen: true,
    owner: null,
    keptUntil: 0,
    destroy() {
      connection.isOpen = false;
    },
  };
  return connection as unknown as Connection;
}

const unlimited = Number.POSITIVE_INFINITY;

const poolOf = (capacity: number, inUse = 0) => new Pool({ capacity, inUse: () => inUse });

function poolWith(...kept: [Connection, keepMs: number][]): Pool {
  const pool = poolOf(8);
  for (const [connection, keepMs] of kept) pool.keep(connection, keepMs, 1_000);
  return pool;
}

test.each([
  [unlimited, 4_999, true],
  [unlimited, 5_000, false],
  [60_000, 5_000, false],
  [2_000, 2_999, true],
  [2_000, 3_000, false],
])("a connection kept at 1 s for at most %p ms is good at %p ms: %p", (keepMs, at, isGood) => {
  const connection = connectionTo("https://a");
  const pool = poolWith([connection, keepMs]);
  expect(pool.take("https://a", at)).toBe(isGood ? connection : null);
  expect(connection.isOpen).toBe(isGood);
  pool.close();
});

test("the one that was used last is taken, once, and only for its own protocol, host and port", () => {
  const [first, last] = [connectionTo("https://a"), connectionTo("https://a")];
  const pool = poolWith([first, unlimited], [last, unlimited], [connectionTo("https://a:444"), unlimited]);
  expect(pool.take("http://a", 1_000)).toBeNull();
  expect(pool.take("https://a", 1_000)).toBe(last);
  expect(pool.take("https://a", 1_000)).toBe(first);
  expect(pool.take("https://a", 1_000)).toBeNull();
  pool.close();
});

test("idle connections of all origins and those in use are bounded together", () => {
  const kept = ["https://a", "https://a", "https://b", "https://a"].map(connectionTo);
  const pool = poolOf(8, 5);
  for (const one of kept) pool.keep(one, unlimited, 1_000);
  expect(kept.map(({ isOpen }) => isOpen)).toEqual([true, true, true, false]);
  expect(pool.take("https://b", 1_000)).toBe(kept[2] ?? null);
  const next = connectionTo("https://c");
  pool.keep(next, unlimited, 1_000);
  expect(next.isOpen).toBe(true);
  pool.close();
});

test("one that waits is closed where another one has to be made and there would be too many", () => {
  const kept = ["https://a", "https://b", "https://b"].map(connectionTo);
  let inUse = 0;
  const pool = new Pool({ capacity: 4, inUse: () => inUse });
  for (const one of kept) pool.keep(one, unlimited, 1_000);
  for (const expected of [3, 2, 1, 0, 0]) {
    inUse++;
    pool.evictIfFull();
    expect(kept.filter(({ isOpen }) => isOpen).length).toBe(expected);
  }
  pool.close();
});

/** The part of a socket that is written to; `written` has the bytes. */
function socket(name: string, written: string[], { destroyed = false } = {}) {
  const made = { destroyed, write: (bytes: Buffer) => written.push(`${name} ${bytes}`) };
  return made as unknown as Socket & { destroyed: boolean };
}

const request = (text: string) => Buffer.from(text);

test("a socket that was closed in the same step is not written to, and holds up none of the others", async () => {
  const written: string[] = [];
  const [a, b] = [socket("a", written), socket("b", written)];
  writeInBatch(a, request("1"));
  writeInBatch(b, request("2"));
  a.destroyed = true;
  await Promise.resolve();
  expect(written).toEqual(["b 2"]);
});
