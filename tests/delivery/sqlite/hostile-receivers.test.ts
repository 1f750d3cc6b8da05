import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { attemptTimeoutMs } from "../../../src/delivery/send/send.ts";
import { afterTests } from "../../support/after-tests.ts";
import { closedPort } from "../../support/ports.ts";
import { serve } from "../../support/process.ts";
import { publish, event as sample, subscriber } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { testDirectory } from "../../support/server.ts";
import { bytesReceiver, type Receiver, rawReceiver, receiver } from "../fixtures/receiver.ts";
import { timeoutMs } from "../fixtures/timeout.ts";

/*
 * One event for a server process of its own, and a receiver of every bad kind. All are called at once, so that the file
 * takes as long as the slowest: the time that an attempt may take, which is shorter here than the 15 seconds it is.
 */

const event = "channel.followed";
const certificateFile = new URL("../fixtures/hook.test.cert.pem", import.meta.url).pathname;

const hour = 3_600_000;
const gigabyte = 1_000_000_000;

interface Expected {
  /** The attempt takes all the time it may. */
  readonly slow?: boolean;
  /** How much of the answer is kept. */
  readonly kept?: number;
  /** Least and most time from the attempt to the next one. */
  readonly retryIn?: readonly [least: number, most: number];
}

/** A receiver with its webhook URL, what the first attempt is recorded as, and the state of the delivery after it. */
type Hostile = readonly [
  name: string,
  url: () => Promise<string>,
  outcome: string,
  status: number | null,
  delivery: "pending" | "failed" | "delivered",
  expected?: Expected,
];

/** Servers stay open until the last test. */
const open = { after: afterTests };

const at = (started: Promise<Receiver>, scheme = "http", host = "127.0.0.1") =>
  started.then(({ port }) => `${scheme}://${host}:${port}/`);

const answering = (status: number, headers: Record<string, string> = {}) =>
  at(receiver((_, response) => response.writeHead(status, headers).end(), open));

const dripping = (start: string) =>
  at(
    rawReceiver((socket) => {
      socket.write(start);
      const drip = setInterval(() => socket.write("a"), 50);
      socket.on("close", () => clearInterval(drip));
    }, open),
  );

/** Writes a piece for as long as the other side takes it. */
function pour(socket: Socket, piece: Buffer): void {
  let written = 0;
  const more = () => {
    while (written < gigabyte && !socket.destroyed) {
      written += piece.length;
      if (!socket.write(piece)) return;
    }
  };
  socket.on("drain", more);
  more();
}

const empty = (tls = false) => receiver((_, response) => response.end(), { tls, ...open });
const internal = await empty();
const pouring = (head: string, piece: Buffer) =>
  at(
    rawReceiver((socket) => {
      socket.write(head);
      pour(socket, piece);
    }, open),
  );
const gigabyteOfBody = () =>
  pouring(`HTTP/1.1 200 OK\r\ncontent-length: ${gigabyte}\r\n\r\n`, Buffer.alloc(65_536, "x"));
const gigabyteOfHead = () => pouring("HTTP/1.1 200 OK\r\n", Buffer.from("x: y\r\n".repeat(10_000)));
const inTwoHours = () => new Date(Date.now() + 2 * hour).toUTCString();

const table: readonly Hostile[] = [
  ["a healthy one beside them", () => answering(204), "ok", 204, "delivered"],
  ["refuses connections", async () => `http://127.0.0.1:${closedPort}/`, "refused", null, "pending"],
  [
    "resets connections",
    () => at(rawReceiver((socket) => socket.resetAndDestroy(), open)),
    "reset",
    null,
    "pending",
  ],
  // Several at the same time.
  ...[1, 2, 3, 4].map(
    (i): Hostile => [
      `answers a gigabyte (${i} of 4)`,
      gigabyteOfBody,
      "ok",
      200,
      "delivered",
      { kept: 1_024 },
    ],
  ),
  ["answers a gigabyte of headers", gigabyteOfHead, "too_large", null, "pending"],
  [
    "answers garbage",
    () => at(bytesReceiver("\x16\x03\x01 this is no HTTP\r\n\r\n", open)),
    "protocol",
    null,
    "pending",
  ],
  ["speaks plain http where https is called", () => at(empty(), "https"), "tls", null, "pending"],
  [
    "has a trusted certificate: a control of the next",
    () => at(empty(true), "https"),
    "ok",
    200,
    "delivered",
  ],
  ["has a certificate for another host", () => at(empty(true), "https", "localhost"), "tls", null, "pending"],
  [
    "redirects to an internal address",
    () => answering(301, { location: `http://127.0.0.1:${internal.port}/` }),
    "status",
    301,
    "pending",
  ],
  ["is gone", () => answering(410), "status", 410, "failed"],
  [
    "asks for an hour by Retry-After in seconds",
    () => answering(429, { "retry-after": "3600" }),
    "status",
    429,
    "pending",
    { retryIn: [hour, 1.25 * hour] },
  ],
  [
    "asks for two hours by Retry-After as a date",
    () => answering(429, { "retry-after": inTwoHours() }),
    "status",
    429,
    "pending",
    // The date has whole seconds, and lies a moment back when it is read.
    { retryIn: [2 * hour - 5_000, 2.5 * hour] },
  ],
  ["never answers", () => at(rawReceiver(() => {}, open)), "timeout", null, "pending", { slow: true }],
  [
    "drips its headers",
    () => dripping("HTTP/1.1 200 OK\r\nx-slow: "),
    "timeout",
    null,
    "pending",
    { slow: true },
  ],
  [
    "answers 200 and drips the body",
    () => dripping("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"),
    "ok",
    200,
    "delivered",
    { slow: true },
  ],
];

interface Recorded {
  readonly status: string;
  readonly next_attempt_at: number | null;
  readonly at: number;
  readonly outcome: string;
  readonly answer: number | null;
  readonly duration_ms: number;
  readonly error: string | null;
  readonly response: string;
}

const directory = testDirectory();
const applications = new Map<string, string>();
const server = await serve(["--data", directory, "--allow-private-webhooks"], {
  command: [process.execPath, "--no-env-file", join(import.meta.dir, "../fixtures/impatient-server.ts")],
  env: { NODE_EXTRA_CA_CERTS: certificateFile },
});
afterTests(() => server.end("SIGKILL"));
await server.load("users", users);
for (const [name, url] of table) {
  const { id } = await subscriber(server, { webhook_url: await url(), event, broadcasters: [1001] });
  applications.set(name, id);
}
const residentBefore = process.platform === "linux" ? peakResidentBytes(server.pid) : 0;
expect((await publish(server, sample(event))).status).toBe(202);

/** The first attempt for an application and its delivery, as soon as they are recorded. */
async function recorded(name: string): Promise<Recorded> {
  const db = new Database(join(directory, "onair.db"), { readonly: true });
  try {
    const find = db.prepare<Recorded, [string]>(
      `SELECT d.status, d.next_attempt_at, a.at, a.outcome, a.status AS answer, a.duration_ms, a.error, a.response
       FROM deliveries d JOIN attempts a ON a.delivery_seq = d.seq AND a.number = 1 WHERE d.application_id = ?`,
    );
    for (const end = Date.now() + timeoutMs + 10_000; Date.now() < end; await Bun.sleep(20)) {
      const row = find.get(applications.get(name) ?? "");
      if (row) return row;
    }
    throw new Error("nothing is recorded");
  } finally {
    db.close();
  }
}

/** The most memory that a process has had so far. */
function peakResidentBytes(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

describe("a receiver that", () => {
  test.each(table.map((row) => [row[0], row] as const))(
    "%s",
    async (name, [, , outcome, answer, status, { slow = false, retryIn = null, kept = null } = {}]) => {
      const attempt = await recorded(name);
      expect(attempt).toMatchObject({ outcome, answer, status });
      expect(attempt.error === null).toBe(outcome === "ok");
      expect(attempt.response.length).toBeLessThanOrEqual(1_024);
      expect(attempt.duration_ms).toBeWithin(slow ? timeoutMs - 1 : 0, timeoutMs + (slow ? 2_000 : -1));
      if (kept !== null) expect(attempt.response.length).toBe(kept);
      if (retryIn) expect((attempt.next_attempt_at ?? 0) - attempt.at).toBeWithin(retryIn[0], retryIn[1] + 1);
    },
  );

  test("is slow has 15 seconds", () => {
    expect(attemptTimeoutMs).toBe(15_000);
  });

  test("redirects has no other server called", async () => {
    for (const [name] of table) await recorded(name);
    expect(internal.connections).toHaveLength(0);
  });

  test.skipIf(process.platform !== "linux")("is one of these costs little memory", async () => {
    for (const [name] of table) await recorded(name);
    expect(peakResidentBytes(server.pid) - residentBefore).toBeLessThan(100_000_000);
  });
});
