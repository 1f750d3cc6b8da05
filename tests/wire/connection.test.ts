import { describe, expect, test } from "bun:test";
import type { Later } from "../../src/wire/answerer.ts";
import type { Reply } from "../../src/wire/reply.ts";
import { FakeConnection, get, nextTurn, ok, request } from "../support/wire.ts";

/** What one connection does with requests and answers, without a network; `deadlines.test.ts` has its times. */

const late = () => null;
const lateOf = (...targets: string[]) => {
  return ({ target }: { target: string }) => (targets.includes(target) ? null : ok(target));
};

describe("requests and answers", () => {
  test("a request that comes byte by byte is answered once, and the connection goes on", () => {
    const fake = new FakeConnection();
    for (const target of ["/a", "/b"])
      fake.receive(...request("POST", target, "Content-Length: 3"), ..."abc");
    const answer = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n${text}`;
    expect(fake.sent).toBe(answer("/a") + answer("/b"));
    expect(fake.socket.ending).toBe("none");
  });

  test("every answer has a date", () => {
    const fake = new FakeConnection();
    fake.receive(get("/a"), "GET /\r\n\r\n");
    const dates = [...fake.socket.text.matchAll(/^date: (.*)\r$/gm)].map(([, date]) => date ?? "");
    expect(dates).toHaveLength(2);
    for (const date of dates) expect(new Date(date).toUTCString()).toBe(date);
  });

  test("what comes together is answered together, in one call of the system", () => {
    const fake = new FakeConnection();
    fake.receive(get("/a") + get("/b") + get("/c"));
    expect(fake.answers).toEqual(["/a", "/b", "/c"]);
    expect(fake.socket.writes).toBe(1);
  });

  test("answers keep the order of the requests, whichever of them take time", async () => {
    const fake = new FakeConnection(lateOf("/b", "/d"));
    fake.receive(get("/a") + get("/b") + get("/c") + get("/d") + get("/e"));
    // Each request only once the one before was answered.
    expect(fake.asked).toEqual(["/a", "/b"]);
    expect(fake.answers).toEqual(["/a"]);
    fake.receive(get("/f"));
    await fake.resolve("/b");
    expect(fake.asked).toEqual(["/a", "/b", "/c", "/d"]);
    expect(fake.answers).toEqual(["/a", "/b", "/c"]);
    await fake.resolve("/d");
    expect(fake.answers).toEqual(["/a", "/b", "/c", "/d", "/e", "/f"]);
  });

  test("of many requests that come together some are answered in each turn of the event loop", async () => {
    const soon: Later = (send) => queueMicrotask(() => send(ok("/a")));
    for (const answer of [() => ok("/a"), () => soon]) {
      const fake = new FakeConnection(answer);
      fake.receive(get("/a").repeat(100));
      // Answers that come as soon as promises of what is known already do are of the same turn.
      await Promise.resolve();
      expect(fake.asked.length).toBeLessThanOrEqual(32);
      fake.connection.ended();
      while (fake.socket.ending === "none") await nextTurn();
      expect(fake.answers).toEqual(Array(100).fill("/a"));
      expect(fake.socket.ending).toBe("end");
    }
  });

  test.each<[string, string, Reply, string]>([
    [
      "HEAD has the length of the body and no body",
      "HEAD",
      ok("abc"),
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n",
    ],
    [
      "HEAD of a stream",
      "HEAD",
      { ...ok(""), body: new ReadableStream() },
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    ],
    [
      "204 has neither body nor length",
      "GET",
      { ...ok("x"), status: 204 },
      "HTTP/1.1 204 No Content\r\n\r\n",
    ],
    [
      "304 has neither body nor length",
      "GET",
      { ...ok("x"), status: 304 },
      "HTTP/1.1 304 Not Modified\r\n\r\n",
    ],
    [
      "an answer without a body says so",
      "GET",
      { ...ok(""), body: null },
      "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    ],
    [
      "its own fields come first",
      "GET",
      { ...ok(""), head: "x: y\r\n" },
      "HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 0\r\n\r\n",
    ],
    [
      "a status without a name",
      "GET",
      { ...ok(""), status: 299 },
      "HTTP/1.1 299 \r\ncontent-length: 0\r\n\r\n",
    ],
  ])("%s", (_, method, reply, sent) => {
    const fake = new FakeConnection(({ target }) => (target === "/a" ? reply : ok(target)));
    fake.receive(request(method, "/a") + get("/next"));
    expect(fake.sent).toBe(`${sent}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n/next`);
  });

  test.each([
    ["HTTP/1.1", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", null],
    ["HTTP/1.1 with close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "close"],
    ["HTTP/1.1 with a list", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", "close"],
    ["HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "close"],
    ["HTTP/1.0 with keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "keep-alive"],
    ["HTTP/1.0 with close", "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "close"],
    ["a body that is too large", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", "close"],
    ["what is malformed", "GET /\r\n\r\n", "close"],
  ])("%s", (_, text, connection) => {
    const fake = new FakeConnection();
    fake.receive(text + get("/next"));
    expect(/^connection: (.*)\r$/m.exec(fake.sent)?.[1] ?? null).toBe(connection);
    const ends = connection === "close";
    expect(fake.socket.ending).toBe(ends ? "shutdown" : "none");
    // What comes behind the last request is not looked at.
    expect(fake.asked.includes("/next")).toBe(!ends);
    expect(fake.answers).toHaveLength(ends ? 1 : 2);
  });

  test("100 Continue is said where it is waited for, behind the answers that come before it", async () => {
    const fake = new FakeConnection(lateOf("/a"));
    const expecting = request("POST", "/b", "Content-Length: 3", "Expect: 100-continue");
    fake.receive(get("/a") + expecting);
    expect(fake.sent).toBe("");
    await fake.resolve("/a");
    const before = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n/aHTTP/1.1 100 Continue\r\n\r\n";
    expect(fake.sent).toBe(before);
    fake.receive("a");
    fake.receive("bc");
    expect(fake.sent).toBe(`${before}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n/b`);
  });

  test("what cannot be read is answered behind what came before it, and ends the connection", () => {
    const fake = new FakeConnection();
    fake.receive(`${get("/a")}${get("/b")}GET /c HTTP/1.1\r\n\r\n${get("/d")}`);
    expect(fake.answers).toEqual(["/a", "/b", "malformed_request"]);
    fake.receive(get("/e"));
    expect(fake.asked).toEqual(["/a", "/b"]);
    expect(fake.socket.ending).toBe("shutdown");
  });

  test("an answerer that breaks its promise ends the connection, and nothing else", async () => {
    const throws = new FakeConnection(() => {
      throw new Error("the answerer broke its promise");
    });
    throws.receive(get("/a"));
    expect(throws.socket.ending).toBe("terminate");
    const throwsLater = new FakeConnection(() => () => {
      throw new Error("the answerer broke its promise");
    });
    throwsLater.receive(get("/a"));
    expect(throwsLater.socket.ending).toBe("terminate");
    const locked = new ReadableStream<Uint8Array>();
    locked.getReader();
    const breaks = new FakeConnection(late);
    breaks.receive(get("/a"));
    await breaks.resolve("/a", { ...ok(""), body: locked });
    expect(breaks.socket.ending).toBe("terminate");
    expect(throws.sent + throwsLater.sent).toBe("");
  });
});

describe("the client says that it sends nothing more", () => {
  test.each([
    ["at once", "", []],
    ["in a head", get("/a").slice(0, -2), []],
    ["in a body", `${request("POST", "/a", "Content-Length: 3")}ab`, []],
    ["behind a request", get("/a"), ["/a"]],
    ["behind two and a half", `${get("/a")}${get("/b")}GET`, ["/a", "/b"]],
  ])("%s: what it asked for is answered, then the connection ends", (_, text, answers) => {
    const fake = new FakeConnection();
    fake.receive(text);
    fake.connection.ended();
    expect(fake.asked).toEqual(answers);
    expect(fake.answers.filter((answer) => answer !== "")).toEqual(answers);
    expect(fake.socket.ending).toBe("end");
  });

  test("while an answer is made", async () => {
    const fake = new FakeConnection(late);
    fake.receive(get("/a") + get("/b"));
    fake.connection.ended();
    expect(fake.socket.ending).toBe("none");
    await fake.resolve("/a");
    expect(fake.socket.ending).toBe("none");
    await fake.resolve("/b");
    expect(fake.answers).toEqual(["/a", "/b"]);
    expect(fake.socket.ending).toBe("end");
  });

  test("while it has yet to take an answer", () => {
    const fake = new FakeConnection();
    fake.socket.room = 10;
    fake.receive(get("/a"));
    fake.connection.ended();
    expect(fake.socket.ending).toBe("none");
    fake.drain();
    expect(fake.answers).toEqual(["/a"]);
    expect(fake.socket.ending).toBe("end");
  });

  test("behind the last answer, after which the connection is closed", () => {
    const fake = new FakeConnection();
    fake.receive(get("/a", "Connection: close"));
    expect(fake.socket.ending).toBe("shutdown");
    fake.connection.ended();
    expect(fake.socket.ending).toBe("end");
  });
});

describe("the socket is gone", () => {
  test("while an answer is made, which then goes nowhere", async () => {
    const fake = new FakeConnection(late);
    fake.receive(get("/a") + get("/b"));
    fake.connection.closed();
    await fake.resolve("/a");
    expect(fake.sent).toBe("");
    expect(fake.asked).toEqual(["/a"]);
  });

  test("in the same turn as more requests than are answered at once", async () => {
    const fake = new FakeConnection();
    fake.receive(get("/a").repeat(100));
    fake.connection.closed();
    await nextTurn();
    expect(fake.asked).toHaveLength(32);
  });

  test("what comes then is not looked at", () => {
    const fake = new FakeConnection();
    fake.connection.close();
    fake.receive(get("/a"));
    fake.connection.close();
    expect(fake.asked).toEqual([]);
  });
});

describe("finish", () => {
  test("ends at once where nothing is under way", () => {
    for (const text of ["", get("/a"), "GET /a", `${request("POST", "/b", "Content-Length: 3")}ab`]) {
      const fake = new FakeConnection();
      fake.receive(text);
      fake.connection.finish();
      expect(fake.socket.ending).toBe("shutdown");
      fake.receive(get("/late"));
      expect(fake.asked.includes("/late")).toBe(false);
    }
  });

  test("ends with the answer under way", async () => {
    const fake = new FakeConnection(late);
    fake.receive(get("/a") + get("/b"));
    fake.connection.finish();
    expect(fake.socket.ending).toBe("none");
    await fake.resolve("/a");
    expect(fake.sent).toBe("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n/a");
    expect(fake.asked).toEqual(["/a"]);
    expect(fake.socket.ending).toBe("shutdown");
  });

  test("ends when the client has taken what it has yet to take", () => {
    const fake = new FakeConnection();
    fake.socket.room = 10;
    fake.receive(get("/a"));
    fake.connection.finish();
    expect(fake.socket.ending).toBe("none");
    fake.drain();
    expect(fake.answers).toEqual(["/a"]);
    expect(fake.socket.ending).toBe("shutdown");
  });

  test("ends in between where there are more requests than are answered at once", async () => {
    const fake = new FakeConnection();
    fake.receive(get("/a").repeat(100));
    fake.connection.finish();
    await nextTurn();
    expect(fake.answers).toHaveLength(32);
    expect(fake.socket.ending).toBe("shutdown");
  });
});
