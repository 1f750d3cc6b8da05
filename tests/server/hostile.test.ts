import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterTests } from "../support/after-tests.ts";
import { type ServerProcess, serve } from "../support/process.ts";
import { RawClient } from "../support/raw-client.ts";
import { testDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

/** Bytes that are no request, or hardly one, against the running server over raw sockets. */

const directory = testDirectory();
const logFile = join(directory, "log");
let server: ServerProcess;
let token: string;

beforeAll(async () => {
  server = await serve(["--data", directory, "--rate-limit", "0"], {
    env: { ONAIR_LOG_LEVEL: "info", ONAIR_ALLOW_PRIVATE_WEBHOOKS: "true" },
    log: logFile,
  });
  ({ token } = await server.application());
});
afterTests(() => server.end("SIGTERM"));

interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly path?: string;
  readonly status?: number;
}
const logLines = () =>
  readFileSync(logFile, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): LogLine => JSON.parse(line));

/** The logged requests of a path; all that were made before are logged by now. */
async function loggedRequests(of: string) {
  const last = `/last-${crypto.randomUUID()}`;
  await server.get(last);
  await until(() => logLines().some((line) => line.path === last));
  return logLines().filter((line) => line.path === of);
}

const path = "/public/v1/categories";
const host = "Host: api.example";
const request = (line: string, ...fields: string[]) => `${[line, ...fields].join("\r\n")}\r\n\r\n`;
const get = (...fields: string[]) => request(`GET ${path} HTTP/1.1`, host, ...fields);
/** A request with a token, whose body is read. */
const post = (...fields: string[]) =>
  request(
    "POST /public/v1/events/subscriptions HTTP/1.1",
    host,
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    ...fields,
  );
const getMuch = request("GET /openapi.json HTTP/1.1", host);
const smuggled = request("GET /smuggled HTTP/1.1", host);
const statuses = (answers: readonly { readonly status: number }[]) => answers.map(({ status }) => status);

/** Sends bytes on a connection of its own and gives all answers, after which the server has to end it. */
const answersUntilEnd = (text: string) => new RawClient(server.publicUrl).send(text).toEnd();

const chunked = "Transfer-Encoding: chunked";
const emptyChunk = "0\r\n\r\n";

describe("an invalid request ends its connection, and bytes behind it are not read", () => {
  test.each<[string, readonly number[], () => string]>([
    ["HTTP/0.9", [505], () => `GET ${path}\r\n\r\n`],
    ["HTTP/2.0", [505], () => request(`GET ${path} HTTP/2.0`, host)],
    ["a version in lower case", [505], () => request(`GET ${path} http/1.1`, host)],
    ["the preface of HTTP/2", [400], () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["TLS", [400], () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["lines that end with LF alone", [505], () => `GET ${path} HTTP/1.1\n${host}\n\n`],
    ["a space in the target", [505], () => request("GET /a b HTTP/1.1", host)],
    ["NUL in the target", [505], () => request(`GET ${path}\0 HTTP/1.1`, host)],
    ["two spaces", [400], () => request(`GET  ${path} HTTP/1.1`, host)],
    ["a target without a slash", [400], () => request("GET public/v1/categories HTTP/1.1", host)],
    ["the asterisk", [400], () => request("OPTIONS * HTTP/1.1", host)],
    ["an unknown method", [], () => request(`BREW ${path} HTTP/1.1`, host)],
    ["a method in lower case", [], () => request(`get ${path} HTTP/1.1`, host)],
    ["no Host", [400], () => request(`GET ${path} HTTP/1.1`)],
    ["a space before a colon", [400], () => get("Content-Length : 5")],
    ["a folded line", [400], () => get("X: a\r\n b")],
    ["a line without a colon", [400], () => get("X")],
    ["a field without a name", [400], () => get(": a")],
    ["NUL in a value", [400], () => get("X: a\0b")],
    ["CR in a value", [400], () => get("X: a\rTransfer-Encoding: chunked")],
    ["a target of 20,000 bytes", [431], () => request(`GET /${"x".repeat(20_000)} HTTP/1.1`, host)],
    ["a field of 20,000 bytes", [431], () => get(`X: ${"x".repeat(20_000)}`)],
    ["250 fields", [431], () => get(...Array(250).fill("X: a"))],
    ["both lengths", [400], () => post("Content-Length: 5", chunked) + emptyChunk],
    ["both lengths the other way round", [400], () => post(chunked, "Content-Length: 5") + emptyChunk],
    ["two Content-Length", [400], () => `${post("Content-Length: 5", "Content-Length: 6")}abcde`],
    ["a list of Content-Length", [400], () => `${post("Content-Length: 5, 5")}abcde`],
    ["a Content-Length with a sign", [400], () => `${post("Content-Length: +5")}abcde`],
    ["a negative Content-Length", [400], () => `${post("Content-Length: -5")}abcde`],
    ["a hexadecimal Content-Length", [400], () => `${post("Content-Length: 0x5")}abcde`],
    ["a Content-Length that overflows", [400], () => `${post("Content-Length: 18446744073709551621")}abcde`],
    ["an empty Content-Length", [400], () => `${post("Content-Length:")}abcde`],
    ["two Transfer-Encoding", [400], () => post(chunked, "Transfer-Encoding: identity") + emptyChunk],
    ["an unknown coding", [400], () => post("Transfer-Encoding: xchunked") + emptyChunk],
    ["a coding before chunked", [400], () => post("Transfer-Encoding: gzip, chunked") + emptyChunk],
    ["a coding behind chunked", [400], () => post("Transfer-Encoding: chunked, gzip") + emptyChunk],
    ["chunks in HTTP/1.0", [400], () => request(`POST ${path} HTTP/1.0`, host, chunked) + emptyChunk],
    ["a chunk without a size", [400], () => `${post(chunked)}zz\r\n`],
    ["a size of a chunk that overflows", [400], () => `${post(chunked)}ffffffffffffffffff\r\n`],
    ["a chunk longer than its size", [400], () => `${post(chunked)}2\r\n{}}}\r\n${emptyChunk}`],
    ["CRLF behind a body", [400], () => `${post("Content-Length: 2")}{}\r\n`],
    ["a trailer behind chunks", [400], () => `${post(chunked)}0\r\nX-Checksum: 1\r\n\r\n`],
    ["chunks whose lines end with LF alone", [400], () => `${post(chunked)}2\n{}\n0\n\n`],
  ])("%s gets %j", async (_, expected, bytes) => {
    expect(statuses(await answersUntilEnd(bytes() + smuggled))).toEqual([...expected]);
  });

  test("and reaches no route", async () => {
    expect(await loggedRequests("/smuggled")).toEqual([]);
  });
});

describe("a request that is unusual is answered, and the next one as well", () => {
  test.each<[string, number, () => string]>([
    ["the absolute form", 200, () => request(`GET http://other.example${path} HTTP/1.1`, host)],
    ["a GET with a body", 200, () => `${get("Content-Length: 5")}abcde`],
    ["a body of no route", 404, () => `${request("POST /a HTTP/1.1", host, "Content-Length: 5")}abcde`],
    ["a body that is itself a request", 400, () => post(`Content-Length: ${smuggled.length}`) + smuggled],
    ["a chunk that is itself a request", 400, () => post(chunked) + chunkOf(smuggled) + emptyChunk],
    ["a body over 64 KiB", 413, () => post("Content-Length: 65537") + " ".repeat(65_537)],
    ["chunks over 64 KiB", 413, () => post(chunked) + chunkOf(" ".repeat(65_537)) + emptyChunk],
    ["a wrong method", 405, () => request(`TRACE ${path} HTTP/1.1`, host)],
    ["an upgrade", 200, () => get("Connection: Upgrade", "Upgrade: websocket")],
  ])("%s gets %i", async (_, expected, bytes) => {
    const one = new RawClient(server.publicUrl).send(bytes());
    await one.answers();
    expect(statuses(await one.send(get()).answers(2))).toEqual([expected, 200]);
    one.reset();
  });

  test("HTTP/1.0 is answered, and its connection ends", async () => {
    expect(statuses(await answersUntilEnd(request(`GET ${path} HTTP/1.0`, host)))).toEqual([200]);
  });

  test("nothing is answered behind a request with Connection: close", async () => {
    const one = new RawClient(server.publicUrl).send(get("Connection: close"));
    await one.answers();
    expect(statuses(await one.send(get()).toEnd())).toEqual([200]);
  });

  test("a body over 64 KiB is refused by its length before it comes", async () => {
    const one = new RawClient(server.publicUrl).send(post("Content-Length: 65537"));
    expect(statuses(await one.answers())).toEqual([413]);
    one.reset();
  });

  test("100 Continue comes before the body is read", async () => {
    const one = new RawClient(server.publicUrl).send(post("Content-Length: 2", "Expect: 100-continue"));
    await until(() => one.text === "HTTP/1.1 100 Continue\r\n\r\n");
    expect(statuses(await one.send("{}").answers())).toEqual([100, 400]);
    one.reset();
  });
});

test("a request that does not await the answer to the former one ends the connection, unanswered", async () => {
  expect(await answersUntilEnd(get() + smuggled)).toEqual([]);
  expect(await loggedRequests("/smuggled")).toEqual([]);
});

test("the bytes of a request may come one by one", async () => {
  const one = new RawClient(server.publicUrl);
  one.socket.setNoDelay(true);
  const sendSlowly = async (text: string) => {
    for (const byte of text) {
      one.send(byte);
      await new Promise(setImmediate);
    }
  };
  await sendSlowly(`${post(chunked)}2\r\n{}\r\n${emptyChunk}`);
  await one.answers();
  await sendSlowly(get());
  expect(statuses(await one.answers(2))).toEqual([400, 200]);
  one.reset();
});

test("a client that has ended its side still gets its answer", async () => {
  const one = new RawClient(server.publicUrl);
  one.socket.end(get(), "latin1");
  expect(statuses(await one.toEnd())).toEqual([200]);
});

test.each([
  ["head", () => `GET ${path}`],
  ["body", () => `${post("Content-Length: 50")}{"events"`],
  ["chunk", () => `${post(chunked)}50\r\n{"events"`],
])("a client that ends its side within a %s gets no answer", async (_, bytes) => {
  const one = new RawClient(server.publicUrl);
  one.socket.end(bytes(), "latin1");
  expect(await one.toEnd()).toEqual([]);
});

/** What many clients send, and whether they read what comes. */
const crowd: readonly (readonly [string, () => string, boolean])[] = [
  ["nothing", () => "", true],
  ["a beginning", () => "GET /hel", true],
  ["a head of many lines that does not end", () => `GET / HTTP/1.1\r\n${"X: y\r\n".repeat(2_000)}`, true],
  ["half a body", () => post("Content-Length: 60000") + "x".repeat(30_000), true],
  ["chunks without end", () => post(chunked) + "1\r\nx\r\n".repeat(1_000), true],
  ["an expectation", () => post("Content-Length: 5", "Expect: 100-continue"), true],
  ["what is malformed", () => "GET / HTTP/1.1\nHost: a\n\n", true],
  ["hundreds of requests, and reads nothing", () => get().repeat(300), false],
  ["a request of much, and reads nothing", () => getMuch, false],
  ["requests of much, and reads nothing", () => getMuch.repeat(20), false],
  ["a request, and the beginning of another one", () => `${get()}GET`, true],
  ["a last request with much behind it", () => get("Connection: close") + "x".repeat(100_000), true],
];
const endings = ["reset", "close", "half-close and reset"] as const;

async function attack(i: number): Promise<void> {
  const [, bytes, reads] = crowd[i % crowd.length] as (typeof crowd)[number];
  const ending = endings[Math.floor(i / crowd.length) % endings.length];
  const { socket } = new RawClient(server.publicUrl);
  const gone = new Promise((resolve) => socket.once("close", resolve));
  if (!reads) socket.pause();
  socket.write(bytes(), "latin1");
  await Bun.sleep((i % 4) * 5);
  if (ending === "half-close and reset") {
    socket.end();
    await Bun.sleep(5);
  }
  if (ending === "close") socket.destroy();
  else socket.resetAndDestroy();
  await gone;
}

async function attacks(from: number, to: number): Promise<void> {
  let i = from;
  const one = async () => {
    while (i < to) await attack(i++);
  };
  await Promise.all(Array.from({ length: 100 }, one));
}

const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;
const residentBytes = () =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) * 1024;

/** While attacks go on; gives how many others were answered meanwhile. */
async function servedDuring(attacking: Promise<void>): Promise<number> {
  let isOver = false;
  const over = attacking.finally(() => {
    isOver = true;
  });
  let served = 0;
  for (; !isOver; served++) {
    const one = new RawClient(server.publicUrl).send(get());
    expect(statuses(await one.answers())).toEqual([200]);
    one.reset();
    await Bun.sleep(20);
  }
  await over;
  return served;
}

test.skipIf(process.platform !== "linux")(
  "thousands of hostile connections leave neither memory nor descriptors behind; others are served meanwhile",
  async () => {
    const open = descriptors();
    const rounds = { least: 4, most: 16, connections: 1_000 };
    // What is left of connections adds to each round; what is still to be collected does not add to every one.
    let [before, smallestGrowth] = [0, Number.POSITIVE_INFINITY];
    for (
      let round = 0;
      round < rounds.least || (round < rounds.most && smallestGrowth >= 8 * 2 ** 20);
      round++
    ) {
      const from = round * rounds.connections;
      expect(await servedDuring(attacks(from, from + rounds.connections))).toBeGreaterThan(0);
      // A few of its own files may be open by now.
      await until(
        () => descriptors() < open + 10,
        () => `${descriptors()} descriptors, not ${open}`,
      );
      const resident = residentBytes();
      if (round > 0) smallestGrowth = Math.min(smallestGrowth, resident - before);
      before = resident;
    }
    expect(smallestGrowth).toBeLessThan(8 * 2 ** 20);
  },
);

test("none of it was a failure of the server", async () => {
  expect(logLines().filter(({ level, status = 0 }) => level === "error" || status >= 500)).toEqual([]);
  const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
  expect(metrics).not.toMatch(/requests_total\{listener="public",status="5\d\d"\} [1-9]/);
});

function chunkOf(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}
