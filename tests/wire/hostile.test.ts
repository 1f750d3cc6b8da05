import { afterAll, beforeAll, expect, test } from "bun:test";
import { RawClient } from "../support/raw-client.ts";
import type { Taken } from "../support/small-listener-process.ts";
import { get, request } from "../support/wire.ts";

/** Clients that mean no good, many of them: others are served meanwhile, and nothing is left of them. */

const connections = 20_000;
const atOnce = 100;

let child: Bun.Subprocess;
let answer = (_: Taken) => {};
const next = () =>
  new Promise<Taken>((resolve) => {
    answer = resolve;
  });
const taken = () => {
  const answered = next();
  child.send("taken");
  return answered;
};
let started: Taken;
let url: URL;

beforeAll(async () => {
  const program = new URL("../support/small-listener-process.ts", import.meta.url).pathname;
  const first = next();
  child = Bun.spawn([process.execPath, program], {
    stdout: "ignore",
    stderr: "inherit",
    ipc: (message) => answer(message as Taken),
  });
  started = await first;
  url = new URL(started.url);
});
afterAll(() => child.kill());

const post = request("POST", "/echo", "Content-Length: 60000");
const chunked = request("POST", "/echo", "Transfer-Encoding: chunked");

/** What they send, and whether they read what comes. */
const kinds: readonly (readonly [string, string, boolean])[] = [
  ["nothing", "", true],
  ["a beginning", "GET /hel", true],
  ["a head of many lines that does not end", `GET / HTTP/1.1\r\n${"X: y\r\n".repeat(2_000)}`, true],
  ["half a body", post + "x".repeat(30_000), true],
  ["chunks without end", chunked + "1\r\nx\r\n".repeat(1_000), true],
  ["an expectation", request("POST", "/echo", "Content-Length: 5", "Expect: 100-continue"), true],
  ["what is malformed", "GET / HTTP/1.1\nHost: a\n\n", true],
  ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", true],
  ["hundreds of requests, and reads nothing", get("/hello").repeat(300), false],
  ["a request of much, and reads nothing", get("/large"), false],
  ["requests of much, and reads nothing", get("/large").repeat(20), false],
  ["a request for a stream", get("/stream"), true],
  ["a request, and the beginning of another one", `${get("/hello")}GET`, true],
  ["a last request with much behind it", get("/hello", "Connection: close") + "x".repeat(100_000), true],
];
const endings = ["reset", "close", "half-close and reset"] as const;

async function attack(i: number): Promise<void> {
  const [, text, reads] = kinds[i % kinds.length] as (typeof kinds)[number];
  const ending = endings[Math.floor(i / kinds.length) % endings.length];
  const gone = Promise.withResolvers<void>();
  const socket = await Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    allowHalfOpen: true,
    socket: { data() {}, error() {}, close: () => gone.resolve() },
  });
  if (!reads) socket.pause();
  socket.write(Buffer.from(text, "latin1"));
  await Bun.sleep((i % 4) * 5);
  if (ending === "half-close and reset") {
    socket.shutdown();
    await Bun.sleep(5);
  }
  if (ending === "close") socket.end();
  else socket.terminate();
  await gone.promise;
}

async function attacks(from: number, to: number): Promise<void> {
  let i = from;
  const one = async () => {
    while (i < to) await attack(i++);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** Once it has no more descriptors than that, or after ten seconds. */
async function rest(descriptors: number): Promise<Taken> {
  let now = await taken();
  const isBusy = () => now.open > 0 || now.heldBytes > 0 || now.descriptors > descriptors;
  for (let tries = 0; tries < 20 && isBusy(); tries++) {
    await Bun.sleep(500);
    now = await taken();
  }
  return now;
}

test(`${connections} hostile connections leave neither memory nor descriptors behind; others are served meanwhile`, async () => {
  // What the first ones of each kind make the process load and grow to is no leak.
  await attacks(0, connections / 5);
  const before = await rest(started.descriptors);
  const hostile = attacks(connections / 5, connections);
  let isOver = false;
  void hostile.then(() => {
    isOver = true;
  });
  let served = 0;
  while (!isOver) {
    const client = new RawClient(url.href).send(get("/hello"));
    expect((await client.answers())[0]?.body).toBe('"hello"');
    client.reset();
    served++;
    await Bun.sleep(50);
  }
  await hostile;
  const after = await rest(started.descriptors);
  if (process.env["ONAIR_TEST_PRINT"]) console.log({ before, after, served });
  expect(served).toBeGreaterThan(5);
  expect({ open: after.open, heldBytes: after.heldBytes }).toEqual({ open: 0, heldBytes: 0 });
  expect(after.descriptors).toBe(started.descriptors);
  // A Connection alone takes more than that.
  expect(after.heapBytes - before.heapBytes).toBeLessThan(connections * 0.8 * 100);
  expect(after.rssBytes - before.rssBytes).toBeLessThan(64 * 1024 * 1024);
}, 180_000);
