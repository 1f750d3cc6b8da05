import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterTests } from "../support/after-tests.ts";
import { type ServerProcess, serve } from "../support/process.ts";
import { testDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

const directory = testDirectory();
let server: ServerProcess;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = await serve(["--data", directory, "--rate-limit", "0"]);
});
afterTests(async () => {
  for (const socket of sockets) socket.destroy();
  await server.end("SIGTERM");
});

function open(count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(server.publicUrl);
  const opened = Array.from({ length: count }, () => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("error", () => {});
    sockets.push(socket);
    return new Promise<Socket>((resolve) => socket.once("connect", () => resolve(socket)));
  });
  return Promise.all(opened);
}

/** How long each of so many requests took, one after the other, in milliseconds. */
async function durations(count: number): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now();
    const { status } = await fetch(`${server.publicUrl}/public/v1/categories`);
    expect(status).toBe(200);
    took.push(performance.now() - startedAt);
  }
  return took.sort((a, b) => a - b);
}

/** Of a process, in bytes. */
function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

const median = (sorted: readonly number[]) => sorted[sorted.length >> 1] ?? Number.NaN;

test.skipIf(process.platform !== "linux")(
  "2,000 idle and 500 dripping connections hurt no other client and take little memory",
  async () => {
    await durations(200);
    const before = residentBytes(server.pid);
    const alone = median(await durations(300));
    await open(2_000);
    const dripping = await open(500);
    const head = `GET /public/v1/categories HTTP/1.1\r\nHost: localhost\r\nX-Slow: ${"x".repeat(4_000)}`;
    let sent = 0;
    const drip = setInterval(() => {
      for (const socket of dripping) socket.write(head[sent] ?? "x");
      sent++;
    }, 20);
    try {
      await until(() => sent > 10);
      const beside = median(await durations(300));
      // Each drip is a packet that the server reads: 25,000 of them a second.
      expect(beside).toBeLessThan(Math.max(alone * 20, 25));
      expect(residentBytes(server.pid) - before).toBeLessThan(100 * 2 ** 20);
      expect(dripping.every((socket) => !socket.destroyed)).toBe(true);
    } finally {
      clearInterval(drip);
    }
  },
);

test.skipIf(process.platform !== "linux")(
  "clients that do not read a large file share its bytes in memory",
  async () => {
    const path = "/docs/api";
    const init = { headers: { "accept-encoding": "identity" } };
    const size = (await (await fetch(server.publicUrl + path, init)).bytes()).byteLength;
    const count = 200;
    const before = residentBytes(server.pid);
    const readers = await open(count);
    for (const reader of readers) {
      reader.pause();
      reader.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    }
    await until(() => readers.every((reader) => reader.bytesWritten > 0));
    // Each of them has been answered when a later request has.
    for (let i = 0; i < 3; i++) await durations(100);
    expect(residentBytes(server.pid) - before).toBeLessThan((size * count) / 2);
    for (const reader of readers) reader.destroy();
  },
);
