/*
 * The least program that keeps an event and delivers it, to compare with: bun bare-events.ts <directory> <receiver's
 * port>
 *
 * Its main thread checks the key of a request and answers; a second thread keeps the events of a turn in SQLite with
 * one sync, signs each with HMAC and Ed25519, sends it over a kept connection, and records the answers of 250 ms
 * together. It does nothing else: no schema, no subscriptions, no retries, no log, no metrics.
 */
import { Database } from "bun:sqlite";
import { generateKeyPairSync, sign } from "node:crypto";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";

declare const self: Worker;

interface Event {
  readonly id: string;
  readonly body: string;
}

const adminKey = process.env["ONAIR_ADMIN_KEY"];
const recordAfterMs = 250;
const places = 256;

/** Makes the function that keeps events; what it returns sends them. */
function keeper(directory: string, port: number): (events: readonly Event[]) => () => void {
  const db = new Database(join(directory, "bare.db"), { create: true });
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run("PRAGMA wal_autocheckpoint = 4000");
  db.run("CREATE TABLE events (place INTEGER PRIMARY KEY, id TEXT, body TEXT)");
  db.run("CREATE TABLE attempts (seq INTEGER PRIMARY KEY, status INTEGER, at INTEGER)");
  const keep = db.prepare("INSERT OR REPLACE INTO events VALUES (?, ?, ?)");
  const record = db.prepare("INSERT INTO attempts VALUES (NULL, 204, ?)");
  const keepAll = db.transaction((events: readonly Event[]) => {
    for (const { id, body } of events) keep.run(kept++ % places, id, body);
  });
  const recordAll = db.transaction((times: readonly number[]) => {
    for (const at of times) record.run(at);
  });
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const { privateKey } = generateKeyPairSync("ed25519");
  const idle: Socket[] = [];
  let kept = 0;
  let results: number[] = [];

  const answered = (socket: Socket) => {
    idle.push(socket);
    if (results.push(Date.now()) > 1) return;
    setTimeout(() => {
      recordAll.immediate(results);
      results = [];
    }, recordAfterMs);
  };
  const write = (bytes: Buffer) => {
    for (let socket = idle.pop(); socket; socket = idle.pop())
      if (!socket.destroyed) return void socket.write(bytes);
    const socket = createConnection({ host: "127.0.0.1", port, noDelay: true });
    socket.on("connect", () => socket.write(bytes));
    socket.on("data", (answer) => answer.includes("\r\n\r\n") && answered(socket));
  };
  const send = ({ id, body }: Event) => {
    const delivery = crypto.randomUUID();
    const timestamp = Math.floor(Date.now() / 1000);
    const content = Buffer.from(`${delivery}.${timestamp}.${body}`);
    const v1 = new Bun.CryptoHasher("sha256", secret).update(content).digest("base64");
    const v1a = sign(null, content, privateKey).toString("base64");
    const head = `POST /hook/0 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nwebhook-id: ${delivery}\r\nwebhook-timestamp: ${timestamp}\r\nonair-event-id: ${id}\r\nwebhook-signature: v1,${v1} v1a,${v1a}\r\n\r\n`;
    write(Buffer.from(head + body));
  };
  return (events) => {
    keepAll.immediate(events);
    return () => events.forEach(send);
  };
}

if (Bun.isMainThread) {
  const [, , directory, port] = process.argv;
  const worker = new Worker(import.meta.url);
  worker.postMessage([directory, Number(port)]);
  let waiting: { readonly event: Event; readonly done: () => void }[] = [];
  const inFlight: (typeof waiting)[] = [];
  worker.onmessage = () => {
    for (const { done } of inFlight.shift() ?? []) done();
  };
  const keepSoon = () => {
    worker.postMessage(waiting.map(({ event }) => event));
    inFlight.push(waiting);
    waiting = [];
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (request.headers.get("authorization") !== `Bearer ${adminKey}`)
        return new Response(null, { status: 401 });
      const { id, name, data } = (await request.json()) as { id: string; name: string; data: unknown };
      const body = JSON.stringify({ type: name, version: 1, timestamp: new Date().toISOString(), data });
      await new Promise<void>((done) => {
        if (waiting.length === 0) setImmediate(keepSoon);
        waiting.push({ event: { id, body }, done });
      });
      return Response.json({ id }, { status: 202 });
    },
  });
  process.stdout.write(`ready http://127.0.0.1:${server.port}\n`);
} else {
  let keep: ReturnType<typeof keeper> | null = null;
  self.onmessage = ({ data }: MessageEvent) => {
    if (keep === null) {
      keep = keeper(data[0], data[1]);
      return;
    }
    const send = keep(data);
    self.postMessage(null);
    send();
  };
}
