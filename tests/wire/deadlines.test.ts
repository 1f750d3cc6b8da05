import { describe, expect, test } from "bun:test";
import { timeouts } from "../../src/wire/timeouts.ts";
import { FakeConnection, get, ok, request } from "../support/wire.ts";

/** How long a connection may take for what it does. The clock is looked at once a second. */

const { idleMs, crowdedIdleMs, headMs, bodyMs, blockedMs, closingMs } = timeouts;
const seconds = (ms: number) => ms / 1_000;
const post = request("POST", "/b", "Content-Length: 3");
const large = "x".repeat(1_000_000);

/** Lets all the time pass that is allowed, sees that nothing happened, and then a little more. */
function expectNothingFor(fake: FakeConnection, ms: number): void {
  const before = [fake.sent, fake.socket.ending];
  fake.pass(seconds(ms) - 1);
  expect([fake.sent, fake.socket.ending]).toEqual(before);
  fake.pass(2);
}

test("are long enough for what is usual, and short enough for what is not", () => {
  // nginx and the load balancers of the large clouds close after 60 s, and must be the first to do so.
  expect(idleMs).toBeGreaterThan(60_000);
  expect(timeouts).toEqual({
    idleMs: 75_000,
    crowdedIdleMs: 5_000,
    headMs: 15_000,
    bodyMs: 30_000,
    blockedMs: 60_000,
    closingMs: 5_000,
    unusedMs: 1_000,
  });
});

describe("nothing is asked", () => {
  test.each([
    ["at first", ""],
    ["behind an answer", get("/a")],
    ["but for empty lines", "\r\n\r\n"],
  ])("%s: the connection ends without a word", (_, text) => {
    const fake = new FakeConnection();
    fake.receive(text);
    const { sent } = fake;
    expectNothingFor(fake, idleMs);
    expect(fake.sent).toBe(sent);
    expect(fake.socket.ending).toBe("shutdown");
    expectNothingFor(fake, closingMs - 1_000);
    expect(fake.socket.ending).toBe("end");
  });

  test("empty lines, again and again, gain no time", () => {
    const fake = new FakeConnection();
    for (let i = 0; i <= seconds(idleMs) + 1; i++) {
      fake.receive("\r\n");
      fake.pass(1);
    }
    expect(fake.socket.ending).toBe("shutdown");
  });

  test("there is less time while others are in need of its place", () => {
    const fake = new FakeConnection();
    fake.receive(get("/a"));
    fake.pass(1);
    fake.ms += crowdedIdleMs - 1;
    fake.connection.look(fake.ms, true);
    expect(fake.socket.ending).toBe("none");
    fake.connection.look(++fake.ms, true);
    expect(fake.socket.ending).toBe("shutdown");
    // But not for what a client, or the server, is about to do.
    for (const text of ["GET", `${post}a`, get("/late")]) {
      const busy = new FakeConnection(() => null);
      busy.receive(text);
      busy.pass(1);
      busy.ms += headMs - 2_000;
      busy.connection.look(busy.ms, true);
      expect(busy.socket.ending).toBe("none");
    }
  });

  test("the time begins anew with each answer", () => {
    const fake = new FakeConnection();
    for (let i = 0; i < 3; i++) {
      fake.receive(get("/a"));
      fake.pass(seconds(idleMs) - 1);
    }
    expect(fake.socket.ending).toBe("none");
  });
});

describe("a request that does not arrive is told so", () => {
  const timeout = (fake: FakeConnection) =>
    fake.answers.at(-1) === "request_timeout" && fake.sent.includes(" 408 ");

  test.each([
    ["its first byte", "G", headMs],
    ["half of its head", "GET /a HTTP/1.1\r\nHost: a\r\n", headMs],
    ["half of an empty line", "\r", headMs],
    ["the beginning of HTTP/0.9", "GET /\r\n", headMs],
    ["its head behind another request", `${get("/a")}GET`, headMs],
    ["its head without the body", post, bodyMs],
    ["half of its body", `${post}ab`, bodyMs],
    ["half of a body in chunks", `${request("POST", "/b", "Transfer-Encoding: chunked")}5\r\nab`, bodyMs],
    ["a body that was asked for", request("POST", "/b", "Content-Length: 3", "Expect: 100-continue"), bodyMs],
  ])("%s", (_, text, ms) => {
    const fake = new FakeConnection();
    fake.receive(text);
    expectNothingFor(fake, ms);
    expect(timeout(fake)).toBe(true);
    expect(fake.sent).toContain("connection: close\r\n");
    expect(fake.socket.ending).toBe("shutdown");
    fake.receive("c");
    expect(fake.asked.includes("/b")).toBe(false);
  });

  test("bytes that keep coming gain no time, neither in the head nor in the body", () => {
    for (const [before, byte, ms] of [
      ["GET /a HTTP/1.1\r\nX: ", "x", headMs],
      [request("POST", "/b", "Content-Length: 1000"), "x", bodyMs],
      [request("POST", "/b", "Transfer-Encoding: chunked"), "1\r\nx\r\n", bodyMs],
    ] as const) {
      const fake = new FakeConnection();
      fake.receive(before);
      for (let i = 0; i <= seconds(ms); i++) {
        fake.receive(byte);
        fake.pass(1);
      }
      expect(timeout(fake)).toBe(true);
    }
  });

  test("head and body have their times one after the other, and the next request has its own", () => {
    const fake = new FakeConnection();
    fake.receive("POST");
    fake.pass(seconds(headMs) - 1);
    fake.receive(post.slice(4));
    fake.pass(seconds(bodyMs) - 1);
    fake.receive("abcG");
    fake.pass(seconds(headMs) - 1);
    fake.receive(get("/a").slice(1));
    expect(fake.answers).toEqual(["/b", "/a"]);
  });

  test("the beginning of one request that ends another one has its own time, too", () => {
    const fake = new FakeConnection();
    fake.receive("G");
    fake.pass(seconds(headMs) - 1);
    fake.receive(`${get("/a").slice(1)}G`);
    fake.pass(seconds(headMs) - 1);
    expect(fake.answers).toEqual(["/a"]);
    fake.pass(2);
    expect(timeout(fake)).toBe(true);
  });

  test("what came while an answer was made has its time from then on", async () => {
    const fake = new FakeConnection(({ target }) => (target === "/late" ? null : ok(target)));
    fake.receive(`${get("/late")}GET`);
    fake.pass(seconds(headMs) * 10);
    await fake.resolve("/late");
    fake.pass(seconds(headMs) - 1);
    fake.receive(get("/a").slice(3));
    expect(fake.answers).toEqual(["/late", "/a"]);
  });
});

test("an answer may take any time", async () => {
  const fake = new FakeConnection(() => null);
  fake.receive(get("/a"));
  fake.pass(3600);
  expect(fake.socket.ending).toBe("none");
  await fake.resolve("/a");
  expect(fake.answers).toEqual(["/a"]);
  // And then counts as asked for just now.
  expectNothingFor(fake, idleMs);
  expect(fake.socket.ending).toBe("shutdown");
});

describe("a client that takes nothing", () => {
  test.each([
    ["of an answer", get("/a")],
    ["of an answer with more requests behind it", get("/a").repeat(3)],
    ["of an answer with half a body behind it", `${get("/a")}${post}a`],
    ["of the last answer", get("/a", "Connection: close")],
  ])("%s is cut off", (_, text) => {
    const fake = new FakeConnection(() => ok(large));
    fake.socket.room = 1_000;
    fake.receive(text);
    expectNothingFor(fake, blockedMs);
    expect(fake.socket.ending).toBe("terminate");
  });

  /** A client that takes so many bytes, once in so many seconds; gives the seconds until it was cut off or had all. */
  function taking(bytes: number, everySeconds: number): { fake: FakeConnection; lasted: number } {
    const fake = new FakeConnection(() => ok(large));
    fake.socket.room = 0;
    fake.receive(get("/a", "Connection: close"));
    let lasted = 0;
    for (; fake.socket.ending === "none"; lasted++) {
      fake.pass(1);
      if (lasted % everySeconds === everySeconds - 1) fake.drain(bytes);
    }
    return { fake, lasted };
  }

  test.each([
    ["a thousand bytes a second", 1_000, 1],
    ["the same in one piece just before its time is over", 60_000, 59],
    ["more", 20_000, 1],
  ])("is not cut off where it takes %s", (_, bytes, everySeconds) => {
    const { fake } = taking(bytes, everySeconds);
    expect(fake.socket.ending).toBe("shutdown");
    expect(fake.answers).toEqual([large]);
  });

  test.each([
    ["a byte a second", 1, 1, 60],
    ["a byte a minute", 1, 59, 60],
    ["room for nothing", 0, 1, 60],
    ["a tenth of what it has to take", 100, 1, 67],
    ["nine tenths", 900, 1, 600],
    ["a lot at first, and in one piece, too late", 100_000, 61, 60],
  ])("is cut off where it takes %s", (_, bytes, everySeconds, seconds) => {
    const { fake, lasted } = taking(bytes, everySeconds);
    expect(fake.socket.ending).toBe("terminate");
    expect(Math.abs(lasted - seconds)).toBeLessThanOrEqual(seconds * 0.03);
  });

  test("gains no more time by taking much than it has at first", () => {
    const fake = new FakeConnection(() => ok(large));
    fake.socket.room = 0;
    fake.receive(get("/a", "Connection: close"));
    fake.pass(1);
    fake.drain(900_000);
    expectNothingFor(fake, blockedMs);
    expect(fake.socket.ending).toBe("terminate");
  });

  test("and then does has the time for its next request", () => {
    const fake = new FakeConnection(() => ok(large));
    fake.socket.room = 0;
    fake.receive(get("/a"));
    fake.pass(seconds(blockedMs) - 1);
    fake.drain();
    expectNothingFor(fake, idleMs);
    expect(fake.socket.ending).toBe("shutdown");
  });
});

describe("the end", () => {
  test("a client that does not close its side is cut off, whatever it sends", () => {
    const fake = new FakeConnection();
    fake.receive(get("/a", "Connection: close"));
    for (let i = 0; i <= seconds(closingMs); i++) {
      fake.receive(get("/b"));
      fake.pass(1);
    }
    expect(fake.asked).toEqual(["/a"]);
    // Not reset: what the system has yet to send is still sent.
    expect(fake.socket.ending).toBe("end");
  });

  test("at the end of the server a client that did nothing is not waited for as long", () => {
    const fake = new FakeConnection();
    fake.connection.finish();
    expect(fake.socket.ending).toBe("shutdown");
    fake.pass(1);
    expect(fake.socket.ending).toBe("end");
    // One that has yet to take its answer is.
    const blocked = new FakeConnection(() => ok(large));
    blocked.socket.room = 10;
    blocked.receive(get("/a"));
    blocked.connection.finish();
    expectNothingFor(blocked, blockedMs);
    expect(blocked.socket.ending).toBe("terminate");
  });

  test("`limit` holds whatever the client takes until then", () => {
    const fake = new FakeConnection(() => ok(large));
    fake.socket.room = 0;
    fake.receive(get("/a"));
    fake.connection.limit(3_000);
    fake.pass(2);
    fake.drain(100_000);
    fake.pass(1);
    expect(fake.socket.ending).toBe("terminate");
  });

  test("`limit` ends whatever goes on", () => {
    const fake = new FakeConnection(() => null);
    fake.receive(get("/a"));
    fake.connection.limit(10_000);
    expectNothingFor(fake, 10_000);
    expect(fake.socket.ending).toBe("terminate");
  });
});
