import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { checkWebhookUrl, guardedLookup, type Resolve } from "../../../src/delivery/send/address.ts";
import { parseRetryAfter } from "../../../src/delivery/send/result.ts";
import type { SendRequest, SendResult } from "../../../src/delivery/send/send.ts";

/*
 * The yardstick of sending: what `createSender` promises of an attempt, on `request` of node:http and node:https with
 * their Agent. Left out is what costs an attempt nothing: the egress proxy, the check of headers and the names of
 * faults.
 */

const timeoutMs = 15_000;
const maxBodyBytes = 16_384;
const keepBytes = 1_024;
const connections = 1_024;

interface NodeSenderOptions {
  readonly userAgent: string;
  readonly resolve: Resolve;
  readonly ca: string;
}

type Done = (result: SendResult) => void;

/** What the URL says, taken apart once. */
interface Target {
  readonly encrypted: boolean;
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Names and values in turn, as `request` takes them without looking at each. */
  readonly headers: readonly string[];
}

export function createNodeSender({ userAgent, resolve, ca }: NodeSenderOptions) {
  const lookup = guardedLookup({ allowPrivate: true }, resolve);
  // `timeout` is how long an unused connection is kept.
  const shared = {
    keepAlive: true,
    maxSockets: connections,
    maxTotalSockets: 4 * connections,
    timeout: 4_000,
    lookup,
  };
  const plain = new http.Agent({ ...shared, maxFreeSockets: connections });
  const encrypted = new https.Agent({
    ...shared,
    maxFreeSockets: connections,
    ca,
    ALPNProtocols: ["http/1.1"],
  });
  const inFlight = new Set<Attempt>();
  const targets = new Map<string, Target | null>();
  let timer: Timer | null = null;

  function targetFor(url: string): Target | null {
    const known = targets.get(url);
    if (known !== undefined) return known;
    const checked = checkWebhookUrl(url, { allowPrivate: true });
    const target = checked.ok ? targetOf(checked.url, userAgent) : null;
    targets.set(url, target);
    return target;
  }

  function endOverdue(): void {
    timer = null;
    const now = performance.now();
    for (const attempt of inFlight) {
      const left = attempt.startedAt + timeoutMs - now;
      if (left >= 1) {
        timer = setTimeout(endOverdue, left).unref();
        return;
      }
      attempt.cut("timeout");
    }
  }

  return {
    begin({ url, headers, body }: SendRequest, done: Done): void {
      const target = targetFor(url);
      if (target === null) throw new TypeError("The URL may not be called");
      const lines = [...target.headers, "content-length", String(body.length)];
      for (const name in headers) lines.push(name, headers[name] ?? "");
      timer ??= setTimeout(endOverdue, timeoutMs).unref();
      const agent = target.encrypted ? encrypted : plain;
      inFlight.add(
        new Attempt({ target, lines, body, agent, ended: (attempt) => inFlight.delete(attempt), done }),
      );
    },
    close(): void {
      for (const attempt of inFlight) attempt.cut("canceled");
      plain.destroy();
      encrypted.destroy();
      if (timer !== null) clearTimeout(timer);
    },
  };
}

function targetOf(url: URL, userAgent: string): Target {
  const secure = url.protocol === "https:";
  return {
    encrypted: secure,
    host: url.hostname,
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    headers: ["host", url.host, "content-type", "application/json", "user-agent", userAgent],
  };
}

interface Order {
  readonly target: Target;
  readonly lines: readonly string[];
  readonly body: Uint8Array;
  readonly agent: http.Agent;
  readonly ended: (attempt: Attempt) => void;
  readonly done: Done;
}

class Attempt {
  readonly startedAt = performance.now();
  readonly #order: Order;
  readonly #timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null } as Record<
    string,
    number | null
  >;
  #request: ClientRequest;
  #answer: IncomingMessage | null = null;
  #readyAt = this.startedAt;
  #kept: Uint8Array[] = [];
  #bytes = 0;
  #repeated = false;
  #settled = false;

  constructor(order: Order) {
    this.#order = order;
    this.#request = this.#send();
  }

  cut(kind: "timeout" | "canceled"): void {
    this.#settle(kind);
    this.#request.destroy();
  }

  #send(): ClientRequest {
    const { target, lines, body, agent } = this.#order;
    const { host, port, path } = target;
    const make = target.encrypted ? https.request : http.request;
    const request = make({ agent, host, port, path, method: "POST", headers: lines, maxHeaderSize: 16_384 });
    request.once("socket", () => {
      if (request.socket?.connecting !== true) this.#readyAt = performance.now();
      else this.#time(request);
    });
    request.once("response", (answer) => this.#read(answer));
    request.once("error", () => {
      if (request.reusedSocket && this.#answer === null && !this.#repeated && !this.#settled) {
        this.#repeated = true;
        this.#request = this.#send();
      } else this.#settle("reset");
    });
    request.end(body);
    return request;
  }

  /** Notes how long each stage of a new connection takes. */
  #time({ socket }: ClientRequest): void {
    if (socket === null) return;
    let since = this.startedAt;
    const note = (stage: string) => () => {
      const now = performance.now();
      this.#timings[stage] = Math.round((now - since) * 10) / 10;
      since = this.#readyAt = now;
    };
    socket.once("lookup", note("dnsMs"));
    socket.once("connect", note("connectMs"));
    if (this.#order.target.encrypted) socket.once("secureConnect", note("tlsMs"));
  }

  #read(answer: IncomingMessage): void {
    this.#answer = answer;
    this.#timings.firstByteMs = Math.round((performance.now() - this.#readyAt) * 10) / 10;
    answer.on("data", (bytes: Uint8Array) => {
      if (this.#bytes < keepBytes) this.#kept.push(bytes.subarray(0, keepBytes - this.#bytes));
      this.#bytes += bytes.length;
      if (this.#bytes <= maxBodyBytes) return;
      this.#settle("ok");
      this.#request.destroy();
    });
    answer.once("end", () => this.#settle("ok"));
    answer.once("error", () => this.#settle("ok"));
  }

  #settle(kind: SendResult["class"]): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#order.ended(this);
    const status = this.#answer?.statusCode ?? null;
    const retryAfter = this.#answer?.headers["retry-after"];
    const isSuccess = status !== null && status >= 200 && status < 300;
    this.#order.done({
      class: status === null ? kind : isSuccess ? "ok" : "status",
      status,
      retryAfterMs: retryAfter === undefined ? null : parseRetryAfter(retryAfter, Date.now()),
      durationMs: Math.round(performance.now() - this.startedAt),
      responseBody: this.#kept.length === 0 ? "" : Buffer.concat(this.#kept).toString(),
      error: isSuccess ? null : `The answer was ${status ?? kind}.`,
      timings: this.#timings as unknown as SendResult["timings"],
      repeated: this.#repeated,
    });
  }
}
