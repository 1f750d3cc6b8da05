import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { second } from "../../domain/time.ts";
import type { FaultPlan, WebhookFault } from "./plan.ts";

interface WebhookEdgeOptions {
  readonly plan: Pick<FaultPlan, "webhook">;
  /** Prints a fault. */
  tell(what: string, about: string): void;
}

/** An egress proxy with faults: webhooks arrive late, twice, or out of order. */
interface WebhookEdge {
  /** For `--webhook-proxy`. */
  readonly url: string;
  stop(): Promise<void>;
}

const hostname = "127.0.0.1";
/** Headers that are not forwarded. */
const ofConnection = ["connection", "proxy-authorization", "proxy-connection", "host", "content-length"];
const longestMs = 15 * second;

/**
 * Starts a proxy that forwards the server's webhooks with faults. Connections to https receivers are encrypted, so they
 * can only be late. Requested samples have no faults.
 */
export async function startWebhookEdge({ plan, tell }: WebhookEdgeOptions): Promise<WebhookEdge> {
  const overtaken = new Overtaken();
  const sockets = new Set<Duplex>();
  const server = createServer((request, response) => {
    void receive(request, response).catch(() => response.writeHead(502).end());
  });

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const webhook = { url: request.url ?? "", headers: headersOf(request), body: await bodyOf(request) };
    const { origin } = new URL(webhook.url);
    const isSample = request.headers["onair-test"] !== undefined;
    const fault = isSample ? null : plan.webhook();
    if (fault)
      tell(sentenceOf(fault), `${webhook.headers["onair-event-type"]} ${webhook.headers["webhook-id"]}`);
    if (fault?.kind === "late") await Bun.sleep(fault.ms);
    if (fault?.kind === "overtaken") await overtaken.wait(origin, fault.ms);
    const answer = await send(webhook);
    overtaken.release(origin);
    if (fault?.kind === "twice") setTimeout(() => void send(webhook), fault.ms).unref();
    if (answer === null) return void response.writeHead(502).end();
    response.writeHead(answer.status, answer.headers).end(answer.body);
  };

  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    const fault = plan.webhook();
    if (fault) tell(`late by ${fault.ms / second} s`, `a connection to ${request.url}`);
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
    setTimeout(() => tunnel(request.url ?? "", socket), fault?.ms ?? 0).unref();
  });
  await new Promise<void>((resolve) => server.listen(0, hostname, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${hostname}:${port}`,
    async stop() {
      overtaken.releaseAll();
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function sentenceOf({ kind, ms }: WebhookFault): string {
  if (kind === "late") return `late by ${ms / second} s`;
  return kind === "twice"
    ? `twice, again in ${ms / second} s`
    : `overtaken by the next one, or late by ${ms / second} s`;
}

/** Webhooks that wait for the next one to the same receiver. */
class Overtaken {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Waits until another webhook to this origin was sent, at most for `mostMs`. */
  async wait(origin: string, mostMs: number): Promise<void> {
    const waiting = this.#waiting.get(origin) ?? new Set();
    this.#waiting.set(origin, waiting);
    await new Promise<void>((resolve) => {
      const go = () => {
        clearTimeout(timer);
        waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, mostMs);
      waiting.add(go);
    });
  }

  release(origin: string): void {
    for (const go of this.#waiting.get(origin) ?? []) go();
    this.#waiting.delete(origin);
  }

  releaseAll(): void {
    for (const origin of [...this.#waiting.keys()]) this.release(origin);
  }
}

interface Webhook {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The receiver's answer; null when there was none. */
async function send({ url, headers, body }: Webhook) {
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      proxy: false,
      decompress: false,
      signal: AbortSignal.timeout(longestMs),
    });
    const shown = Object.fromEntries(answer.headers);
    delete shown["transfer-encoding"];
    delete shown["connection"];
    return { status: answer.status, headers: shown, body: new Uint8Array(await answer.arrayBuffer()) };
  } catch {
    return null;
  }
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const all = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return Object.fromEntries(all.filter(([name]) => !ofConnection.includes(name)));
}

async function bodyOf(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part);
  return Uint8Array.from(Buffer.concat(parts));
}

function tunnel(authority: string, socket: Duplex): void {
  const [, host = "", port = ""] = /^\[?(.+?)\]?:([0-9]+)$/.exec(authority) ?? [];
  const onward: Socket = connect(Number(port), host, () => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    socket.on("close", () => onward.destroy()).pipe(onward);
    onward.pipe(socket);
  });
  onward.on("error", () => socket.destroy()).on("close", () => socket.destroy());
}
