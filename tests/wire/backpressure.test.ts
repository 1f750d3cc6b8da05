import { describe, expect, test } from "bun:test";
import { timeouts } from "../../src/wire/timeouts.ts";
import { usedBytes } from "../support/memory.ts";
import { FakeConnection, get, nextTurn, ok } from "../support/wire.ts";

/** What happens to a connection whose client does not take what it asked for, or asks for more than it takes. */

describe("a client that asks for more than is answered", () => {
  test("is not read any further while 64 KiB are held, and then is", async () => {
    const fake = new FakeConnection(({ target }) => (target === "/late" ? null : ok(target)));
    fake.receive(get("/late"), "GET /a HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2_000));
    expect(fake.socket.isPaused).toBe(false);
    fake.receive(get("/a").repeat(1_000));
    expect(fake.socket.isPaused).toBe(true);
    await fake.resolve("/late");
    while (fake.asked.length < 3_001) await nextTurn();
    await nextTurn(); // at whose beginning the last of them are sent
    expect(fake.socket.isPaused).toBe(false);
    expect(fake.answers).toHaveLength(3_001);
  });

  test("is read again when its connection ends, so that its end is seen", async () => {
    const fake = new FakeConnection(() => null);
    fake.receive(get("/late", "Connection: close"), "x".repeat(70_000));
    expect(fake.socket.isPaused).toBe(true);
    await fake.resolve("/late");
    expect([fake.socket.isPaused, fake.socket.ending]).toEqual([false, "shutdown"]);
  });

  test("has what comes behind its last request thrown away", () => {
    const fake = new FakeConnection();
    fake.receive(get("/a", "Connection: close"));
    const piece = Buffer.alloc(1024 * 1024, "x");
    const before = usedBytes();
    for (let i = 0; i < 32; i++) fake.connection.received(Buffer.from(piece));
    expect(usedBytes() - before).toBeLessThan(16 * piece.length);
    expect(fake.asked).toEqual(["/a"]);
  });

  test("gets no more answers than it takes", async () => {
    const fake = new FakeConnection(() => ok("x".repeat(10_000)));
    fake.socket.room = 1_000;
    fake.receive(get("/a").repeat(3_000));
    while (!fake.socket.isPaused) await nextTurn();
    for (let i = 0; i < 10; i++) await nextTurn();
    // What is put together at once.
    expect(fake.asked.length).toBeLessThan(64);
    const { length } = fake.asked;
    fake.drain(1_000);
    await nextTurn();
    expect(fake.asked).toHaveLength(length);
    fake.socket.room = Number.POSITIVE_INFINITY;
    fake.connection.writable();
    while (fake.asked.length < 3_000) await nextTurn();
    expect(fake.answers.every((answer) => answer.length === 10_000)).toBe(true);
  });
});

describe("what is sent is whole and in order", () => {
  /** Bodies of all sizes around that of the memory in which answers are put together. */
  const sizes = [0, 1, 1_000, 100_000, 262_000, 262_144, 262_145, 1_000_000];
  const bodies = sizes.map((size, i) => String.fromCharCode(97 + i).repeat(size));
  const answer = ({ target }: { target: string }) => ok(bodies[Number(target.slice(1))] ?? "");
  const requests = bodies.map((_, i) => get(`/${i}`)).join("");

  test.each([1_000, 65_536, 262_144, 500_000])("where the socket takes %d bytes at a time", (room) => {
    const fake = new FakeConnection(answer);
    fake.socket.room = room;
    fake.receive(requests);
    while (fake.asked.length < bodies.length || fake.socket.room === 0) {
      fake.socket.room = 0;
      fake.drain(room);
    }
    expect(fake.answers).toEqual(bodies);
  });

  test("whatever is sent on other connections in between", () => {
    const fakes = Array.from({ length: 5 }, () => new FakeConnection(answer));
    for (const fake of fakes) fake.socket.room = 100_000;
    // Each is in the midst of its answers while the next begins.
    for (const fake of fakes) fake.receive(requests);
    for (let i = 0; i < 50; i++) for (const fake of fakes) fake.drain(100_000);
    for (const fake of fakes) expect(fake.answers).toEqual(bodies);
  });

  test("a socket that says that it is gone is let go of, whether Bun says so or not", async () => {
    const gone = new FakeConnection(({ target }) => (target === "/late" ? null : ok("x".repeat(50_000))));
    // Not read any further, so that nobody hears of its end.
    gone.receive(get("/late"), get("/a").repeat(3_000));
    expect(gone.socket.isPaused).toBe(true);
    gone.socket.write = () => -1;
    await gone.resolve("/late");
    expect(gone.socket.ending).toBe("terminate");
    expect(gone.asked.length).toBeLessThanOrEqual(32);
    // While it is waited for, too.
    const blocked = new FakeConnection(() => ok("x".repeat(50_000)));
    blocked.socket.room = 10;
    blocked.receive(get("/a"));
    expect(blocked.socket.ending).toBe("none");
    blocked.socket.write = () => -1;
    blocked.connection.writable();
    await nextTurn();
    expect([blocked.socket.ending, blocked.connection.heldBytes]).toEqual(["terminate", 0]);
  });
});

describe("a stream", () => {
  /** A stream that is given its parts by the test, and what became of it. */
  function stream() {
    const events: string[] = [];
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>(
      {
        start(given) {
          controller = given;
        },
        pull() {
          events.push("pull");
        },
        cancel() {
          events.push("cancel");
        },
      },
      { highWaterMark: 0 },
    );
    return {
      reply: { status: 200, head: "", body },
      events,
      /** How often more was asked for. */
      pulls: () => events.filter((event) => event === "pull").length,
      async give(text: string) {
        controller?.enqueue(Buffer.from(text));
        await nextTurn();
      },
      async end() {
        controller?.close();
        await nextTurn();
      },
      async breakOff() {
        controller?.error(new Error("the disk is gone"));
        await nextTurn();
      },
    };
  }

  const start = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

  test("goes out in chunks as it comes, and the connection goes on", async () => {
    const { reply, give, end } = stream();
    const fake = new FakeConnection(({ target }) => (target === "/s" ? reply : ok(target)));
    fake.receive(get("/s") + get("/a"));
    expect(fake.sent).toBe(start);
    await give("hello");
    await give("");
    await give("x".repeat(26));
    const chunks = `${start}5\r\nhello\r\n1a\r\n${"x".repeat(26)}\r\n`;
    expect(fake.sent).toBe(chunks);
    expect(fake.asked).toEqual(["/s"]);
    await end();
    expect(fake.sent).toBe(`${chunks}0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n/a`);
  });

  test("to HTTP/1.0 goes out as it is, and ends with the connection", async () => {
    const { reply, give, end } = stream();
    const fake = new FakeConnection(() => reply);
    fake.receive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    await give("hello");
    await end();
    expect(fake.sent).toBe("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello");
    expect(fake.socket.ending).toBe("shutdown");
  });

  test("is asked for more only when the client has taken what there was", async () => {
    const { reply, give, pulls } = stream();
    const fake = new FakeConnection(() => reply);
    fake.receive(get("/s"));
    await nextTurn();
    expect(pulls()).toBe(1);
    fake.socket.room = 10;
    await give("x".repeat(100));
    expect(pulls()).toBe(1);
    fake.drain(50);
    await nextTurn();
    expect(pulls()).toBe(1);
    fake.drain();
    await nextTurn();
    expect(pulls()).toBe(2);
    expect(fake.sent).toBe(`${start}64\r\n${"x".repeat(100)}\r\n`);
  });

  test("that breaks off breaks the connection, so that nobody takes it for whole", async () => {
    const { reply, give, breakOff } = stream();
    const fake = new FakeConnection(() => reply);
    fake.receive(get("/s"));
    await give("hello");
    await breakOff();
    expect(fake.sent).toBe(`${start}5\r\nhello\r\n`);
    expect(fake.socket.ending).toBe("terminate");
  });

  test.each<[string, (fake: FakeConnection) => void]>([
    ["the socket is gone", (fake) => fake.connection.closed()],
    ["the client sends nothing more", (fake) => fake.connection.ended()],
    ["the client takes nothing", (fake) => fake.pass(timeouts.blockedMs / 1_000 + 1)],
    [
      "its time is over",
      (fake) => {
        fake.connection.limit(0);
        fake.pass(1);
      },
    ],
  ])("is canceled when %s", async (_, happens) => {
    const { reply, give, events } = stream();
    const fake = new FakeConnection(() => reply);
    fake.receive(get("/s"));
    await nextTurn();
    fake.socket.room = 10;
    await give("x".repeat(100));
    expect(events).not.toContain("cancel");
    happens(fake);
    await nextTurn();
    expect(events.filter((event) => event === "cancel")).toHaveLength(1);
  });

  test("that was canceled does not look as if it had come to its end", async () => {
    const { reply, give } = stream();
    const fake = new FakeConnection(() => reply);
    fake.receive(get("/s"));
    fake.socket.room = 0;
    await give("hello");
    fake.connection.ended();
    await nextTurn();
    fake.drain();
    expect(fake.sent).toBe(`${start}5\r\nhello\r\n`);
    expect(fake.socket.ending).toBe("end");
  });

  test("of which not even the head is taken is given up once its client has ended", async () => {
    const { reply } = stream();
    const fake = new FakeConnection(() => reply);
    fake.socket.room = 0;
    fake.receive(get("/s"));
    fake.pass(3_600);
    fake.connection.ended();
    fake.pass(timeouts.blockedMs / 1_000 + 1);
    expect(fake.socket.ending).toBe("terminate");
  });

  test("that is to end soon does, whether its client takes something or not", async () => {
    const { reply, give } = stream();
    const fake = new FakeConnection(() => reply);
    fake.receive(get("/s"));
    fake.connection.limit(5_000);
    fake.socket.room = 0;
    await give("hello");
    fake.pass(6);
    expect(fake.socket.ending).toBe("terminate");
  });

  test.each<[string, (fake: FakeConnection) => void]>([
    ["is gone", (fake) => fake.connection.closed()],
    ["has ended", (fake) => fake.connection.ended()],
  ])("to somebody who %s is not begun", async (_, happens) => {
    const { reply, events } = stream();
    const fake = new FakeConnection(() => null);
    fake.receive(get("/s"));
    happens(fake);
    await fake.resolve("/s", reply);
    expect(events).toEqual(["cancel"]);
    expect(fake.sent).toBe("");
  });

  test("may last, with nothing said, for any time", async () => {
    const { reply, give } = stream();
    const fake = new FakeConnection(() => reply);
    fake.receive(get("/s"));
    fake.pass(3_600);
    await give("hello");
    fake.pass(3_600);
    expect(fake.sent).toBe(`${start}5\r\nhello\r\n`);
    expect(fake.socket.ending).toBe("none");
  });

  test("is let go to its end by `finish`", async () => {
    const { reply, give, end } = stream();
    const fake = new FakeConnection(() => reply);
    fake.receive(get("/s") + get("/a"));
    fake.connection.finish();
    await give("hello");
    await end();
    expect(fake.sent).toBe(`${start}5\r\nhello\r\n0\r\n\r\n`);
    expect(fake.asked).toEqual(["/s"]);
    expect(fake.socket.ending).toBe("shutdown");
  });
});
