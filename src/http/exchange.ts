import { newId } from "../domain/ids.ts";
import type { Grant } from "../domain/tokens.ts";
import type { Log } from "../log.ts";
import { clientAddress, clientNetwork, peerAddress, type TrustedProxies } from "../proxies.ts";
import { type ReadyHead, type Reply, readyHead } from "../wire/reply.ts";
import type { Budget } from "./rate-limit.ts";
import type { Traffic } from "./traffic.ts";

/** One request and its answer, as far as it has come. */
export interface Exchange {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly request: Asked;
  /** Whose request it is; null where the listener does not tell. */
  readonly client: Client | null;
  readonly shared: Shared;
  /** `performance.now()` at its start. */
  readonly startedAt: number;
  /** Headers that its answer carries whatever becomes of it, beyond those of all answers. */
  headers: ExtraHeaders | null;
  grant: Grant | null;
  /** Whether a route has decided on it: let it in, or refused it. */
  isAdmitted: boolean;
  /** What is left of the caller's rate limit, on limited routes. */
  budget: Budget | null;
}

/** What is asked of a request before anybody makes a `Request` of it. */
export interface Asked {
  readonly headers: { get(name: string): string | null };
}

/** The other end of a connection. */
export interface Client {
  readonly address: string;
  /** Closes the connection so much later, whatever goes over it until then; Infinity: never. */
  limit(ms: number): void;
}

/** What all exchanges of one listener have in common. */
export interface Shared {
  readonly log: Log;
  readonly traffic: Traffic;
  /** Headers that every answer carries. Never changed. */
  readonly common: Headers;
  /** The same as lines. */
  readonly commonLines: string;
  /** What every answer of 200 begins with. */
  readonly ok: ReadyHead;
  /** Whose word about the peer is taken; null: nobody's. */
  readonly trustedProxies: TrustedProxies | null;
}

/** @param headers headers that every answer of the listener carries */
export function sharedBy(
  log: Log,
  headers: ExtraHeaders,
  trustedProxies: TrustedProxies | null,
  traffic: Traffic,
): Shared {
  const common = new Headers({ "content-type": "application/json", "cache-control": "no-store", ...headers });
  const commonLines = linesOf(common);
  return { log, traffic, common, commonLines, ok: readyHead(200, commonLines), trustedProxies };
}

/** Headers as they are sent. */
export function linesOf(headers: Iterable<[string, string]>): string {
  let lines = "";
  for (const [name, value] of headers) lines += `${name}: ${value}\r\n`;
  return lines;
}

/** How a request arrived for which a `Request` was made: HEAD is answered by the route of GET. */
export const arrivals = new WeakMap<Request, Pick<Exchange, "method" | "client">>();

/** The client's address: behind a trusted proxy the one that it forwards for; "" when unknown. */
export function clientAddressOf({ request, shared, client }: Exchange): string {
  const address = client?.address ?? "";
  if (shared.trustedProxies === null) return peerAddress(address);
  return clientAddress(address, request.headers.get("x-forwarded-for"), shared.trustedProxies);
}

/** What a client's requests are limited by: an IPv4 address or a /64; "" when unknown. */
export function clientNetworkOf(exchange: Exchange): string {
  return clientNetwork(clientAddressOf(exchange));
}

type ReplyBody = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | null;

const saneRequestId = /^[A-Za-z0-9._:-]{1,64}$/;

export function startExchange(request: Request, shared: Shared): Exchange {
  const url = request.url;
  const pathAt = url.indexOf("/", 8);
  const queryAt = url.indexOf("?", pathAt);
  const { method, client } = arrivals.get(request) ?? { method: request.method, client: null };
  const path = queryAt === -1 ? url.slice(pathAt) : url.slice(pathAt, queryAt);
  return beginExchange({ request, method, path, client, shared });
}

export function beginExchange(
  begun: Pick<Exchange, "request" | "method" | "path" | "client" | "shared">,
): Exchange {
  const { request, method, path, client, shared } = begun;
  const given = request.headers.get("x-request-id");
  return {
    requestId: given !== null && saneRequestId.test(given) ? given : newId(),
    method,
    path,
    request,
    client,
    shared,
    startedAt: performance.now(),
    headers: null,
    grant: null,
    isAdmitted: false,
    budget: null,
  };
}

/** Headers beyond those that every answer has; they win over them. */
export type ExtraHeaders = Readonly<Record<string, string>>;

/** The headers of an answer: those of every answer, those of its exchange, and `extra`, which win over them. */
export function headersOf({ shared, headers: own }: Exchange, extra?: ExtraHeaders): Headers {
  const headers = new Headers(shared.common);
  if (own) setAll(headers, own);
  if (extra) setAll(headers, extra);
  return headers;
}

/** Answers. Every answer is made here or, where its head is ready, by `replyReady`. */
export function reply(exchange: Exchange, status: number, body: ReplyBody, extra?: ExtraHeaders): Response {
  const { budget } = exchange;
  const headers = headersOf(exchange, extra);
  if (body === null) headers.delete("content-type");
  headers.set("x-request-id", exchange.requestId);
  if (budget) {
    headers.set("ratelimit-limit", `${budget.limit}`);
    headers.set("ratelimit-remaining", `${budget.remaining}`);
    headers.set("ratelimit-reset", `${budget.resetSeconds}`);
  }
  answered(exchange, status);
  const response = new Response(body, { status, headers });
  bodies.set(response, body);
  return response;
}

/** What answers were made of, so that nobody has to read them out of a `Response`. */
const bodies = new WeakMap<Response, ReplyBody>();

/** The same answer as it is sent. */
export async function replyOf(response: Response): Promise<Reply> {
  const { status, headers } = response;
  const body = bodies.get(response);
  const head = linesOf(headers);
  if (typeof body === "string") return { status, head, body: Buffer.from(body) };
  if (body instanceof Uint8Array || body === null) return { status, head, body };
  if (body instanceof ReadableStream) return { status, head, body: response.body };
  return { status, head, body: await response.bytes() };
}

/**
 * The same, and in half of the time, for an answer whose headers are known beforehand: `ready` has all of them but the
 * request id and the rate limit.
 */
export function replyReady(exchange: Exchange, ready: ReadyHead, body: Reply["body"]): Reply {
  const { budget, requestId } = exchange;
  const limits = budget
    ? `ratelimit-limit: ${budget.limit}\r\nratelimit-remaining: ${budget.remaining}\r\nratelimit-reset: ${budget.resetSeconds}\r\n`
    : "";
  const { status } = ready;
  answered(exchange, status);
  return { status, ready, head: `x-request-id: ${requestId}\r\n${limits}`, body };
}

/** Every answer is counted and has its line in the log. */
function answered(exchange: Exchange, status: number): void {
  const { shared, requestId, method, path, startedAt, grant } = exchange;
  const durationMs = performance.now() - startedAt;
  shared.traffic.count(status, durationMs);
  const applicationId = grant?.applicationId ?? null;
  const client = clientAddressOf(exchange);
  shared.log.request({ requestId, method, path, status, durationMs, client, applicationId });
}

function setAll(headers: Headers, values: ExtraHeaders): void {
  for (const name in values) headers.set(name, values[name] ?? "");
}

/** Answers with a value as JSON. */
export function replyJson(
  exchange: Exchange,
  status: number,
  value: unknown,
  extra?: ExtraHeaders,
): Response {
  return reply(exchange, status, JSON.stringify(value), extra);
}
