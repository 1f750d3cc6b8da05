import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { oauthFields, speaksOAuth } from "../api/http/errors.ts";
import { explainListenError } from "../api/http/server.ts";
import { crossOrigin } from "../api/public/listener.ts";
import { newId } from "../domain/ids.ts";
import type { Store } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import { secretHash } from "../domain/tokens.ts";
import { isThisMachineAlone, urlOf } from "../runtime/client-address.ts";
import { clockTime, printable, type Terminal } from "../runtime/terminal.ts";
import type { Config } from "../server/settings/config.ts";
import type { App } from "../server/start.ts";
import { between, type Random, seeded, weighted } from "./chance.ts";

/** A fault of an API request; `revoked` revokes its token before the answer. */
export type ApiFault =
  | { readonly kind: "busy"; readonly status: 429 | 503; readonly retryAfterSeconds: number }
  | { readonly kind: "slow"; readonly ms: number }
  | { readonly kind: "revoked" };

/**
 * A fault of a webhook. `late`: the webhook arrives late by `ms`. `twice`: it arrives twice, the second time after
 * `ms`. `overtaken`: the next webhook to the same receiver arrives before it, or it arrives late by `ms`.
 */
export interface WebhookFault {
  readonly kind: "late" | "twice" | "overtaken";
  readonly ms: number;
}

/** Decides the faults. Each call is for the next request of its kind; null means no fault. */
export interface FaultPlan {
  api(): ApiFault | null;
  /** Milliseconds after which the next event stream is cut off; null for never. */
  stream(): number | null;
  webhook(): WebhookFault | null;
}

const tenth = second / 10;

type Kinds<Kind extends string> = Readonly<Record<Kind | "none", number>>;

/** The frequency of each fault of API requests, in percent. */
const apiKinds: Kinds<"rate_limited" | "unavailable" | "slow" | "revoked"> = {
  none: 77,
  rate_limited: 8,
  unavailable: 6,
  slow: 7,
  revoked: 2,
};
const webhookKinds: Kinds<WebhookFault["kind"]> = { none: 55, late: 15, twice: 15, overtaken: 15 };
const streamKinds: Kinds<"cut"> = { none: 20, cut: 80 };

/**
 * Returns the faults of a seed. API requests, streams and webhooks each have a sequence of their own, so that the n-th
 * request of a kind has the same fault in every run.
 */
export function faultPlan(seed: number): FaultPlan {
  const [api, stream, webhook] = [1, 2, 3].map((kind) => seeded(seed * 4 + kind)) as [Random, Random, Random];
  return {
    api() {
      const kind = drawn(api, apiKinds);
      // These numbers are drawn in any case, so that the kind of a fault does not change the following faults.
      const retryAfterSeconds = between(api, 1, 4);
      const ms = between(api, 10, 60) * tenth;
      if (kind === "none") return null;
      if (kind === "rate_limited") return { kind: "busy", status: 429, retryAfterSeconds };
      if (kind === "unavailable") return { kind: "busy", status: 503, retryAfterSeconds };
      return kind === "slow" ? { kind, ms } : { kind };
    },
    stream() {
      const kind = drawn(stream, streamKinds);
      const ms = between(stream, 50, 300) * tenth;
      return kind === "none" ? null : ms;
    },
    webhook() {
      const kind = drawn(webhook, webhookKinds);
      const ms = between(webhook, 10, 80) * tenth;
      return kind === "none" ? null : { kind, ms };
    },
  };
}

function drawn<Kind extends string>(random: Random, kinds: Kinds<Kind>): Kind | "none" {
  return weighted(random, Object.keys(kinds) as (Kind | "none")[], (kind) => kinds[kind]);
}

interface ApiProxyOptions {
  readonly host: string;
  /** The port to listen on; 0 for any port. */
  readonly port: number;
  readonly plan: FaultPlan;
  /** Prints a fault. */
  tell(what: string, about: string): void;
}

/** The server to which the proxy forwards requests. */
interface Upstream {
  /** The URL of the public listener. */
  readonly url: string;
  readonly tokens: Store["tokens"];
}

/** A reverse proxy in front of the public listener that injects faults. */
interface ApiProxy {
  readonly url: string;
  /** Sets the upstream server when it has started. Before that, every answer is 503. */
  connect(upstream: Upstream): void;
  stop(): Promise<void>;
}

const streamPath = "/public/v1/events/stream";
/** Whether requests to a path have faults: API and token requests have, pages, pictures and documents have not. */
const hasFaults = (path: string) => path.startsWith("/public/v1/") || path === "/oauth/token";
/** Headers that belong to one connection (RFC 9110, section 7.6.1). */
const ofConnection = ["connection", "keep-alive", "transfer-encoding"];

/** Starts a proxy that forwards requests to the upstream server with the faults of the plan. */
export function startApiProxy({ host, port, plan, tell }: ApiProxyOptions): ApiProxy {
  let upstream: Upstream | null = null;
  const options = {
    hostname: host,
    port,
    reusePort: false,
    development: false,
    idleTimeout: 0,
    async fetch(request: Request, server: Bun.Server<undefined>): Promise<Response> {
      // The URL of a request without a valid Host is only a path.
      const { pathname, search } = new URL(request.url, "http://localhost");
      if (upstream === null) return busy(request, pathname, { status: 503, retryAfterSeconds: 1 });
      const about = `${request.method} ${pathname}`;
      const isCalled = hasFaults(pathname) && request.method !== "OPTIONS";
      const fault = isCalled ? plan.api() : null;
      if (fault?.kind === "busy") {
        tell(`${fault.status}, again in ${fault.retryAfterSeconds} s`, about);
        return busy(request, pathname, fault);
      }
      if (fault?.kind === "slow") {
        tell(`slow by ${fault.ms / second} s`, about);
        await Bun.sleep(fault.ms);
      }
      if (fault?.kind === "revoked" && (await revokeToken(request, upstream.tokens)))
        tell("its token is revoked", about);
      const cutAfterMs = pathname === streamPath ? plan.stream() : null;
      const client = server.requestIP(request)?.address ?? "";
      const answer = await passedOn(request, client, upstream.url + pathname + search);
      if (cutAfterMs === null || !answer.ok || answer.body === null) return answer;
      const cut = () => tell(`cut off after ${cutAfterMs / second} s`, about);
      return new Response(endedAfter(answer.body, cutAfterMs, cut), answer);
    },
    error: () => new Response(null, { status: 502 }),
  };
  const server = explainListenError(host, port, "--port", () => Bun.serve(options));
  return {
    url: urlOf(host, server.port ?? port),
    connect(server) {
      upstream = server;
    },
    stop: () => server.stop(true),
  };
}

async function passedOn(request: Request, client: string, url: string): Promise<Response> {
  const { method, body, signal } = request;
  const headers = new Headers(request.headers);
  // The start page shows secrets only to a browser on this machine, and tells proxies by these headers. Every forwarded
  // request comes from this machine, and `fetch` adds `Connection`.
  const isFromBrowser = headers.get("connection")?.toLowerCase() === "keep-alive";
  if (!isThisMachineAlone(client) || !isFromBrowser) headers.append("x-forwarded-for", client);
  const answer = await fetch(url, {
    method,
    headers,
    body,
    redirect: "manual",
    decompress: false,
    proxy: false,
    timeout: false,
    signal,
  });
  const passed = new Headers(answer.headers);
  for (const name of ofConnection) passed.delete(name);
  return new Response(answer.body, { status: answer.status, headers: passed });
}

/** Returns a stream that ends after `ms`, possibly within an event. */
function endedAfter(
  stream: ReadableStream<Uint8Array>,
  ms: number,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  let timer: Timer | undefined;
  return new ReadableStream({
    start(controller) {
      timer = setTimeout(() => {
        ended();
        controller.close();
        void reader.cancel();
      }, ms);
    },
    async pull(controller) {
      const { value, done } = await reader.read().catch((error) => {
        clearTimeout(timer);
        throw error;
      });
      if (!done) return controller.enqueue(value);
      clearTimeout(timer);
      // The timer may have closed the stream meanwhile.
      if (controller.desiredSize !== null) controller.close();
    },
    cancel() {
      clearTimeout(timer);
      return reader.cancel();
    },
  });
}

/** Returns the answer that a busy server gives. */
function busy(
  request: Request,
  path: string,
  { status, retryAfterSeconds }: Pick<ApiFault & { kind: "busy" }, "status" | "retryAfterSeconds">,
): Response {
  const request_id = newId();
  const code = status === 429 ? "rate_limited" : "unavailable";
  const message = `${status === 429 ? "Too many requests" : "The server is busy"}; try again in ${retryAfterSeconds} seconds`;
  const oauth = speaksOAuth(path) ? oauthFields(code, message) : {};
  const text = JSON.stringify({ ...oauth, message, code, errors: [], request_id });
  return new Response(request.method === "HEAD" ? null : text, {
    status,
    headers: {
      ...crossOrigin,
      "content-type": "application/json",
      "cache-control": "no-store",
      "retry-after": String(retryAfterSeconds),
      "x-request-id": request_id,
    },
  });
}

/** Revokes the token of a request. Returns false when the request has no valid token. */
async function revokeToken({ headers }: Request, tokens: Store["tokens"]): Promise<boolean> {
  const token = /^bearer ([\x21-\x7e]+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  if (token === undefined) return false;
  const hash = secretHash(token);
  const grant = await tokens.find(hash);
  return grant !== null && (await tokens.revoke(hash, grant.applicationId)) === "revoked";
}

interface WebhookProxyOptions {
  readonly plan: Pick<FaultPlan, "webhook">;
  /** Prints a fault. */
  tell(what: string, about: string): void;
}

/** An egress proxy with faults: webhooks arrive late, twice, or out of order. */
interface WebhookProxy {
  /** The URL of the proxy, for `--webhook-proxy`. */
  readonly url: string;
  stop(): Promise<void>;
}

const hostname = "127.0.0.1";
/** Headers that the egress proxy does not forward. */
const notForwarded = ["connection", "proxy-authorization", "proxy-connection", "host", "content-length"];
const longestMs = 15 * second;

/**
 * Starts a proxy that forwards the server's webhooks with faults. Connections to https receivers are encrypted, so
 * their webhooks can only be late. Requested samples have no faults.
 */
export async function startWebhookProxy({ plan, tell }: WebhookProxyOptions): Promise<WebhookProxy> {
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

/** Webhooks that wait for the next webhook to the same receiver. */
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

/** Sends a webhook. Returns the receiver's answer; null without one. */
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
    const copied = Object.fromEntries(answer.headers);
    delete copied["transfer-encoding"];
    delete copied["connection"];
    return { status: answer.status, headers: copied, body: new Uint8Array(await answer.arrayBuffer()) };
  } catch {
    return null;
  }
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const all = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return Object.fromEntries(all.filter(([name]) => !notForwarded.includes(name)));
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

/** Fault injection: two proxies around an unchanged platform. */
interface FaultInjection {
  /** The URL of the API with faults. */
  readonly url: string;
  /** The settings of the platform behind the proxies. */
  readonly config: Config;
  /** Lets requests through to the platform, when it has started. */
  connect(app: Pick<App, "publicUrl" | "store">): void;
  stop(): Promise<void>;
}

/**
 * Starts a proxy on the public port, in front of the API, and an egress proxy for webhooks. Both inject the faults of
 * the plan and print them. Throws when the port is in use.
 */
export async function startFaultInjection(
  config: Config,
  plan: FaultPlan,
  { terminal, now }: { readonly terminal: Terminal; readonly now: () => number },
): Promise<FaultInjection> {
  const { style } = terminal;
  const tell = (what: string, about: string) => {
    const time = style("dim", clockTime(now()));
    terminal.line(`${time} ${style("yellow", "fault   ")} ${what}: ${printable(about)}`);
  };
  const api = startApiProxy({ host: config.host, port: config.port, plan, tell });
  const webhooks = await startWebhookProxy({ plan, tell });
  return {
    url: api.url,
    config: {
      ...config,
      host: "127.0.0.1",
      port: 0,
      publicUrl: config.publicUrl ?? api.url,
      webhookProxy: webhooks.url,
    },
    connect: ({ publicUrl, store }) => api.connect({ url: publicUrl, tokens: store.tokens }),
    async stop() {
      await api.stop();
      await webhooks.stop();
    },
  };
}
