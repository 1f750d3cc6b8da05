import type { Socket } from "bun";
import { atOnce, behaviours, type ReceiverReport, timeMark } from "./receiver.ts";

interface Side {
  other: Socket<Side> | null;
  /** What came before the other side was there. */
  early: Uint8Array[];
  isClient: boolean;
  isFirst: boolean;
}

/** Passes on to a port of loopback what comes, its first answer after a while; gives its own port. */
function startRelay(port: number, handshakeMs: () => number): number {
  const pass = (socket: Socket<Side>, bytes: Uint8Array): void => {
    const { data } = socket;
    const waitMs = !data.isClient && data.isFirst ? handshakeMs() : 0;
    data.isFirst = false;
    const copy = bytes.slice();
    const send = () => {
      if (data.other === null) data.early.push(copy);
      else data.other.write(copy);
    };
    if (waitMs === 0) send();
    else setTimeout(send, waitMs);
  };
  const close = ({ data }: Socket<Side>): void => void data.other?.end();
  const handlers = { data: pass, close, end: close, error: close };
  const listener = Bun.listen<Side>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      ...handlers,
      open(client) {
        client.data = { other: null, early: [], isClient: true, isFirst: true };
        void Bun.connect<Side>({
          hostname: "127.0.0.1",
          port,
          data: { other: client, early: [], isClient: false, isFirst: true },
          socket: {
            ...handlers,
            open(server) {
              client.data.other = server;
              for (const bytes of client.data.early.splice(0)) server.write(bytes);
            },
            connectError: () => void client.end(),
          },
        }).catch(() => client.end());
      },
    },
  });
  return listener.port;
}

/*
 * The receiver of the delivery benchmark: bun receiver-server.ts <port> [<certificate> <key>]
 *
 * POST is a delivery and is answered with 204 at once, or after 15 seconds on the path that hangs, or with 500 three
 * times of four on each path while it refuses. `/behave?as=NAME` has it answer as one of the behaviours does. What it
 * keeps of each is its `webhook-id` and, where the event's id ends in a time of this process's clock, how long it took.
 */

const hangMs = 15_000;

let arrived = 0;
let ids: string[] = [];
let latenciesMs: number[] = [];
let lastHeaders: Record<string, string> = {};
let hanging: string | null = null;
let hung = 0;
let refusing = false;
let refusals = 0;
let behaviour = atOnce;
let answerMs = 0;
let answers = 0;
const requestsByPath = new Map<string, number>();
const outstanding = new Set<string>();

const noContent = { status: 204 };

function deliver(request: Request): Response | Promise<Response> {
  const { headers } = request;
  if (hanging !== null && request.url.endsWith(hanging)) {
    hung++;
    return Bun.sleep(hangMs).then(() => new Response(null, noContent));
  }
  const id = headers.get("webhook-id") ?? "";
  if (refusing && isRefused(request.url)) {
    refusals++;
    outstanding.add(id);
    return new Response(null, { status: 500 });
  }
  outstanding.delete(id);
  arrived++;
  ids.push(id);
  const event = headers.get("onair-event-id") ?? "";
  const at = event.indexOf(timeMark);
  if (at !== -1) latenciesMs.push(performance.now() - Number(event.slice(at + timeMark.length)));
  if (arrived === 1) lastHeaders = Object.fromEntries(headers);
  return behaviour === atOnce ? new Response(null, noContent) : answerLater();
}

async function answerLater(): Promise<Response> {
  const startedAt = performance.now();
  const closes = behaviour.tlsHandshakeMs !== undefined;
  await Bun.sleep(behaviour.answerMs());
  answers++;
  answerMs += performance.now() - startedAt;
  return new Response(null, closes ? { ...noContent, headers: { connection: "close" } } : noContent);
}

function isRefused(path: string): boolean {
  const requests = (requestsByPath.get(path) ?? 0) + 1;
  requestsByPath.set(path, requests);
  return requests % 4 !== 0;
}

/** What has arrived since the last report. */
function report(): ReceiverReport {
  const counts = { arrived, distinct: new Set(ids).size, hung };
  const meanAnswerMs = answers === 0 ? 0 : answerMs / answers;
  const made = { ...counts, latenciesMs, meanAnswerMs, headers: lastHeaders };
  arrived = 0;
  hung = 0;
  ids = [];
  latenciesMs = [];
  answers = 0;
  answerMs = 0;
  return made;
}

const [, , port, certificate, key] = process.argv;

const common = {
  hostname: "127.0.0.1",
  reusePort: false,
  development: false,
  idleTimeout: 60,
} as const;

const server = Bun.serve({
  ...common,
  port: Number(port),
  fetch(request) {
    if (request.method === "POST") return deliver(request);
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/report") return Response.json(report());
    if (pathname === "/hang") hanging = searchParams.get("path");
    if (pathname === "/refuse") refusing = searchParams.get("on") === "true";
    if (pathname === "/behave") {
      behaviour = behaviours.find(({ name }) => name === searchParams.get("as")) ?? atOnce;
      return Response.json({ tlsPort });
    }
    if (pathname === "/refused") return Response.json({ requests: refusals, outstanding: outstanding.size });
    return Response.json({ arrived, timed: latenciesMs.length, clockMs: performance.now() });
  },
});

/** Behind a relay, which holds up what the behaviour asks for; null without a certificate. */
const tlsPort = certificate === undefined || key === undefined ? null : startTls(certificate, key);

function startTls(certificate: string, key: string): number {
  const encrypted = Bun.serve({
    ...common,
    port: 0,
    tls: { cert: Bun.file(certificate), key: Bun.file(key) },
    fetch: deliver,
  });
  return startRelay(encrypted.port ?? 0, () => behaviour.tlsHandshakeMs ?? 0);
}

process.stdout.write(`ready http://127.0.0.1:${server.port}\n`);
