import { describe, expect, test } from "bun:test";
import { WireFault } from "../../src/wire/fault.ts";
import { maxHeadBytes } from "../../src/wire/head.ts";
import { maxBodyBytes, Requests } from "../../src/wire/requests.ts";
import { usedBytes } from "../support/memory.ts";

/** How requests are found in the bytes of a connection. */

/** One line for each request that was read, and for what came behind them. */
function readAll(pieces: readonly Buffer[], requests = new Requests()): string[] {
  const found: string[] = [];
  try {
    for (const piece of pieces) {
      requests.add(piece);
      for (let arrived = requests.next(); arrived; arrived = requests.next()) {
        const { head, body, isTooLarge } = arrived;
        const text = body === null ? "no body" : JSON.stringify(Buffer.from(body).toString("latin1"));
        found.push(`${head.method} ${head.target} ${isTooLarge ? "too large" : text}`);
        if (isTooLarge) return found;
      }
      requests.settle();
    }
    found.push(`waits for ${requests.part}`);
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    found.push(`refused with ${error.status}`);
  }
  return found;
}

const bytes = (text: string) => Buffer.from(text, "latin1");
const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`;
const post = (target: string, ...lines: string[]) =>
  `POST ${target} HTTP/1.1\r\nHost: a\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;

describe("what is found depends on the bytes, not on how they are divided", () => {
  test.each<[string, string, string[]]>([
    ["nothing", "", ["waits for nothing"]],
    ["one", get("/a"), ["GET /a no body", "waits for nothing"]],
    [
      "three",
      get("/a") + get("/b") + get("/a"),
      [..."aba"].map((x) => `GET /${x} no body`).concat("waits for nothing"),
    ],
    ["a beginning", "GE", ["waits for head"]],
    ["all but the last byte", get("/a").slice(0, -1), ["waits for head"]],
    [
      "empty lines between",
      `\r\n\r\n\r\n${get("/a")}\r\n${get("/b")}`,
      ["GET /a no body", "GET /b no body", "waits for nothing"],
    ],
    ["empty lines behind", `${get("/a")}\r\n\r\n`, ["GET /a no body", "waits for nothing"]],
    ["half an empty line", `${get("/a")}\r`, ["GET /a no body", "waits for head"]],
    [
      "bodies of both kinds",
      `${post("/a", "Content-Length: 3")}abc${post("/b", "Transfer-Encoding: chunked")}3\r\nabc\r\n0\r\n\r\n${get("/c")}`,
      ['POST /a "abc"', 'POST /b "abc"', "GET /c no body", "waits for nothing"],
    ],
    [
      "an empty body in chunks",
      `${post("/a", "Transfer-Encoding: chunked")}0\r\n\r\n`,
      ['POST /a ""', "waits for nothing"],
    ],
    [
      "no body",
      post("/a", "Content-Length: 0") + get("/b"),
      ["POST /a no body", "GET /b no body", "waits for nothing"],
    ],
    ["a part of a body", `${post("/a", "Content-Length: 5")}abc`, ["waits for body"]],
    [
      "a request as a body",
      `${post("/a", `Content-Length: ${get("/b").length}`)}${get("/b")}${get("/c")}`,
      [`POST /a ${JSON.stringify(get("/b"))}`, "GET /c no body", "waits for nothing"],
    ],
    [
      "a body of GET",
      `GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc${get("/b")}`,
      ['GET /a "abc"', "GET /b no body", "waits for nothing"],
    ],
    // Nobody reads on behind what was not understood.
    [
      "one that is refused",
      `${get("/a")}GET /b HTTP/1.1\r\n\r\n${get("/c")}`,
      ["GET /a no body", "refused with 400"],
    ],
    [
      "a chunk that is refused",
      `${post("/a", "Transfer-Encoding: chunked")}x\r\n${get("/c")}`,
      ["refused with 400"],
    ],
    ["a body that is too large", `${post("/a", "Content-Length: 65537")}${get("/c")}`, ["POST /a too large"]],
    ["lines that end with LF", "GET /a HTTP/1.1\nHost: a\n\n", ["refused with 400"]],
    ["one line that ends with LF", "GET /a HTTP/1.1\r\nHost: a\n", ["refused with 400"]],
    ["an empty line of LF", `\n${get("/a")}`, ["refused with 400"]],
    ["the end with LF alone", "GET /a HTTP/1.1\r\nHost: a\r\n\n", ["refused with 400"]],
    ["HTTP/0.9", "GET /a\r\n", ["waits for head"]],
    // RFC 9112, section 11.2: what a lenient parser takes for a second request.
    [
      "length and chunks",
      `${post("/a", "Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n${get("/b")}`,
      ["refused with 400"],
    ],
    [
      "chunks of another name",
      `${post("/a", "Content-Length: 5", "Transfer-Encoding\t: chunked")}0\r\n\r\n${get("/b")}`,
      ["refused with 400"],
    ],
    [
      "a length that is folded",
      `${post("/a", "X: a\r\n Content-Length: 5")}${get("/b")}`,
      ["refused with 400"],
    ],
  ])("%s", (_, text, expected) => {
    const input = bytes(text);
    for (let size = 1; size <= Math.max(1, input.length); size++) {
      const pieces = Array.from({ length: Math.ceil(input.length / size) }, (_, i) =>
        input.subarray(i * size, (i + 1) * size),
      );
      expect(readAll(pieces)).toEqual(expected);
    }
    for (let at = 0; at <= input.length; at++) {
      expect(readAll([input.subarray(0, at), input.subarray(at)])).toEqual(expected);
    }
  });
});

describe("limits", () => {
  const headOf = (length: number) => {
    const start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    return `${start}${"x".repeat(length - start.length - 4)}\r\n\r\n`;
  };

  test("a head has 16 KiB", () => {
    expect(maxHeadBytes).toBe(16 * 1024);
    expect(readAll([bytes(headOf(maxHeadBytes) + get("/b"))])).toEqual([
      "GET / no body",
      "GET /b no body",
      "waits for nothing",
    ]);
    expect(readAll([bytes(headOf(maxHeadBytes + 1))])).toEqual(["refused with 431"]);
    // Nobody waits for its end.
    expect(readAll([bytes(headOf(maxHeadBytes * 2).slice(0, maxHeadBytes))])).toEqual(["waits for head"]);
    expect(readAll([bytes(headOf(maxHeadBytes * 2).slice(0, maxHeadBytes + 1))])).toEqual([
      "refused with 431",
    ]);
  });

  test("a head that is too large because of its target is told so (RFC 9112, section 3)", () => {
    expect(readAll([bytes(`GET /${"x".repeat(maxHeadBytes)}`)])).toEqual(["refused with 414"]);
    expect(readAll([bytes(get(`/${"x".repeat(maxHeadBytes)}`))])).toEqual(["refused with 414"]);
    // Section 3 recommends 8,000 bytes at least.
    expect(readAll([bytes(get(`/${"x".repeat(12_000)}`))])[0]).toStartWith("GET /x");
  });

  test("a body has 64 KiB, of which a byte more tells that it is too large", () => {
    expect(maxBodyBytes).toBe(64 * 1024);
    const chunked = post("/", "Transfer-Encoding: chunked");
    const read = (text: string) => {
      const requests = new Requests();
      requests.add(bytes(text));
      const arrived = requests.next();
      return arrived && [arrived.body?.length, arrived.isTooLarge];
    };
    const largest = "x".repeat(maxBodyBytes);
    expect(read(`${post("/", `Content-Length: ${maxBodyBytes}`)}${largest}`)).toEqual([maxBodyBytes, false]);
    expect(read(post("/", `Content-Length: ${maxBodyBytes + 1}`))).toEqual([0, true]);
    expect(read(`${chunked}10000\r\n${largest}\r\n0\r\n\r\n`)).toEqual([maxBodyBytes, false]);
    expect(read(`${chunked}10000\r\n${largest}\r\n1\r\nx`)).toEqual([maxBodyBytes + 1, true]);
    expect(read(`${chunked}10000\r\n${largest}\r\n1\r\n`)).toBeNull();
  });
});

describe("what is held", () => {
  test("is what was not read", () => {
    const requests = new Requests();
    requests.add(bytes(get("/a") + get("/b")));
    requests.next();
    requests.settle();
    expect(requests.heldBytes).toBe(get("/b").length);
    requests.next();
    requests.settle();
    expect(requests.heldBytes).toBe(0);
  });

  /** As much as a socket gives at once. */
  const burst = bytes(get("/a").repeat(Math.floor((512 * 1024) / get("/a").length)));

  test("the fields that are remembered do not hold on to what came with them", () => {
    const connections = Array.from({ length: 64 }, () => new Requests());
    const before = usedBytes();
    for (const requests of connections) readAll([Buffer.from(burst)], requests);
    expect(usedBytes() - before).toBeLessThan((connections.length * burst.length) / 4);
    expect(connections[0]?.part).toBe("nothing");
  });

  test("is not copied again for each of many requests", () => {
    const requests = new Requests();
    const all = Buffer.concat([burst, burst, burst, burst]);
    requests.add(all);
    const before = process.cpuUsage();
    let count = 0;
    // As where each is answered later: then it is settled each time.
    for (; requests.next() !== null; count++) requests.settle();
    const { user, system } = process.cpuUsage(before);
    expect(count * get("/a").length).toBe(all.length);
    // Copied each time it would be 70 GB.
    expect((user + system) / 1000).toBeLessThan(1_500);
  });
});

describe("100-continue", () => {
  const expecting = post("/", "Content-Length: 3", "Expect: 100-continue");

  test("is to be said once, when the head has come and the body has not", () => {
    const requests = new Requests();
    requests.add(bytes(expecting));
    expect(requests.next()).toBeNull();
    expect([requests.part, requests.takeExpectation(), requests.takeExpectation()]).toEqual([
      "body",
      true,
      false,
    ]);
    requests.add(bytes("abc"));
    expect(requests.next()?.body).toEqual(new Uint8Array(Buffer.from("abc")));
  });

  test.each([
    ["the body has come along", `${expecting}abc`],
    ["there is none", post("/", "Expect: 100-continue")],
    ["it would be too large", post("/", "Content-Length: 65537", "Expect: 100-continue")],
    ["HTTP/1.0", "POST / HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"],
    ["nobody asked", post("/", "Content-Length: 3")],
  ])("is not to be said: %s", (_, text) => {
    const requests = new Requests();
    requests.add(bytes(text));
    requests.next();
    expect(requests.takeExpectation()).toBe(false);
  });
});
