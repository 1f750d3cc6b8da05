import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { builtInEventTypes } from "../../src/domain/events/catalogue.ts";
import { attemptTimeoutMs } from "../../src/webhooks/client/sender.ts";
import { client, type ServerProcess, serve, subscriber } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { temporaryDirectory } from "../support/server.ts";
import {
  bytesReceiver,
  closeAll,
  closedPort,
  type Receiver,
  rawReceiver,
  receiver,
} from "./fixtures/receiver.ts";
import { timeoutMs } from "./fixtures/timeout.ts";

/*
 * One event for a server process of its own, and a receiver of every bad kind. All are called at once, so that the file
 * takes as long as the slowest: the time that an attempt may take, which is shorter here than the 15 seconds it is.
 */

const event = "channel.followed";
const data = builtInEventTypes.find(({ name }) => name === event)?.example;
const certificateFile = new URL("./fixtures/hook.test.cert.pem", import.meta.url).pathname;

const hour = 3_600_000;
const gigabyte = 1_000_000_000;
/** Endpoints that answer a gigabyte at the same time. */
const pouring = 4;

interface Hostile {
  readonly name: string;
  /** Starts it; gives its webhook URL. */
  readonly url: () => Promise<string>;
  /** What the first attempt is recorded as. */
  readonly outcome: string;
  readonly status: number | null;
  /** The delivery's state after that attempt. */
  readonly delivery: "pending" | "failed" | "delivered";
  /** The attempt takes all the time it may. */
  readonly slow?: boolean;
  /** Least and most time from the attempt to the next one. */
  readonly retryIn?: readonly [least: number, most: number];
}

const at = (started: Promise<Receiver>, scheme = "http", host = "127.0.0.1") =>
  started.then(({ port }) => `${scheme}://${host}:${port}/`);

const answering = (status: number, headers: Record<string, string> = {}) =>
  at(receiver((_, response) => response.writeHead(status, headers).end()));

const dripping = (start: string) =>
  at(
    rawReceiver((socket) => {
      socket.write(start);
      const drip = setInterval(() => socket.write("a"), 50);
      socket.on("close", () => clearInterval(drip));
    }),
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

let internal: Receiver;

const table: readonly Hostile[] = [
  {
    name: "a healthy one beside them",
    url: () => answering(204),
    outcome: "ok",
    status: 204,
    delivery: "delivered",
  },
  {
    name: "refuses connections",
    url: async () => `http://127.0.0.1:${await closedPort()}/`,
    outcome: "refused",
    status: null,
    delivery: "pending",
  },
  {
    name: "resets connections",
    url: () => at(rawReceiver((socket) => socket.resetAndDestroy())),
    outcome: "reset",
    status: null,
    delivery: "pending",
  },
  ...Array.from(
    { length: pouring },
    (_, i): Hostile => ({
      name: `answers a gigabyte (${i + 1} of ${pouring})`,
      url: () =>
        at(
          rawReceiver((socket) => {
            socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${gigabyte}\r\n\r\n`);
            pour(socket, Buffer.alloc(65_536, "x"));
          }),
        ),
      outcome: "ok",
      status: 200,
      delivery: "delivered",
    }),
  ),
  {
    name: "answers a gigabyte of headers",
    url: () =>
      at(
        rawReceiver((socket) => {
          socket.write("HTTP/1.1 200 OK\r\n");
          pour(socket, Buffer.from("x: y\r\n".repeat(10_000)));
        }),
      ),
    outcome: "too_large",
    status: null,
    delivery: "pending",
  },
  {
    name: "answers garbage",
    url: () => at(bytesReceiver("\x16\x03\x01 this is no HTTP\r\n\r\n")),
    outcome: "protocol",
    status: null,
    delivery: "pending",
  },
  {
    name: "speaks plain http where https is called",
    url: () =>
      at(
        receiver((_, response) => response.end()),
        "https",
      ),
    outcome: "tls",
    status: null,
    delivery: "pending",
  },
  {
    name: "has a trusted certificate: a control of the next",
    url: () =>
      at(
        receiver((_, response) => response.end(), { tls: true }),
        "https",
      ),
    outcome: "ok",
    status: 200,
    delivery: "delivered",
  },
  {
    name: "has a certificate for another host",
    url: () =>
      at(
        receiver((_, response) => response.end(), { tls: true }),
        "https",
        "localhost",
      ),
    outcome: "tls",
    status: null,
    delivery: "pending",
  },
  {
    name: "redirects to an internal address",
    url: () => answering(301, { location: `http://127.0.0.1:${internal.port}/` }),
    outcome: "status",
    status: 301,
    delivery: "pending",
  },
  { name: "is gone", url: () => answering(410), outcome: "status", status: 410, delivery: "failed" },
  {
    name: "asks for an hour by Retry-After in seconds",
    url: () => answering(429, { "retry-after": "3600" }),
    outcome: "status",
    status: 429,
    delivery: "pending",
    retryIn: [hour, 1.25 * hour],
  },
  {
    name: "asks for two hours by Retry-After as a date",
    url: () => answering(429, { "retry-after": new Date(Date.now() + 2 * hour).toUTCString() }),
    outcome: "status",
    status: 429,
    delivery: "pending",
    // The date has whole seconds, and lies a moment back when it is read.
    retryIn: [2 * hour - 5_000, 2.5 * hour],
  },
  {
    name: "never answers",
    url: () => at(rawReceiver(() => {})),
    outcome: "timeout",
    status: null,
    delivery: "pending",
    slow: true,
  },
  {
    name: "drips its headers",
    url: () => dripping("HTTP/1.1 200 OK\r\nx-slow: "),
    outcome: "timeout",
    status: null,
    delivery: "pending",
    slow: true,
  },
  {
    name: "answers 200 and drips the body",
    url: () => dripping("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"),
    outcome: "ok",
    status: 200,
    delivery: "delivered",
    slow: true,
  },
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

const directory = temporaryDirectory();
const applications = new Map<string, string>();
let server: ServerProcess;
let residentBefore: number;

beforeAll(async () => {
  internal = await receiver((_, response) => response.end());
  server = await serve(["--data", directory.path, "--allow-private-webhooks"], {
    command: [process.execPath, "--no-env-file", join(import.meta.dir, "fixtures/impatient-server.ts")],
    env: { NODE_EXTRA_CA_CERTS: certificateFile },
  });
  const { admin } = client(server);
  await admin("POST", "/admin/v1/users/batch", users.map((user) => JSON.stringify(user)).join("\n"));
  for (const { name, url } of table) {
    const { id } = await subscriber(server, { webhook_url: await url(), event, broadcasters: [1001] });
    applications.set(name, id);
  }
  if (process.platform === "linux") residentBefore = peakResidentBytes(server.pid);
  const published = { name: event, version: 1, broadcaster_user_id: 1001, data };
  expect((await admin("POST", "/admin/v1/events", published)).status).toBe(202);
});
afterAll(async () => {
  await server.end("SIGKILL");
  await closeAll();
  directory.remove();
});

/** The first attempt for an application and its delivery, as soon as they are recorded. */
async function recorded(name: string): Promise<Recorded> {
  const db = new Database(join(directory.path, "onair.db"), { readonly: true });
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
  test.each(table.map((one) => [one.name, one] as const))("%s", async (name, expected) => {
    const attempt = await recorded(name);
    expect(attempt).toMatchObject({ outcome: expected.outcome, answer: expected.status });
    expect(attempt.status).toBe(expected.delivery);
    expect(attempt.error === null).toBe(expected.outcome === "ok");
    expect(attempt.response.length).toBeLessThanOrEqual(1_024);
    if (expected.slow) {
      expect(attempt.duration_ms).toBeGreaterThanOrEqual(timeoutMs - 1);
      expect(attempt.duration_ms).toBeLessThan(timeoutMs + 2_000);
    } else expect(attempt.duration_ms).toBeLessThan(timeoutMs - 1);
    if (expected.retryIn) {
      const [least, most] = expected.retryIn;
      const wait = (attempt.next_attempt_at ?? 0) - attempt.at;
      expect(wait).toBeGreaterThanOrEqual(least);
      expect(wait).toBeLessThanOrEqual(most);
    }
  });

  test("takes its time has 15 seconds", () => {
    expect(attemptTimeoutMs).toBe(15_000);
  });

  test("redirects has nobody else called", async () => {
    for (const { name } of table) await recorded(name);
    expect(internal.connections).toHaveLength(0);
  });

  test.skipIf(process.platform !== "linux")("is any of these costs little memory", async () => {
    for (const { name } of table) await recorded(name);
    expect(peakResidentBytes(server.pid) - residentBefore).toBeLessThan(100_000_000);
  });
});
