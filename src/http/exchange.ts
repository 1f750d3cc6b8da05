import { newId } from "../domain/ids.ts";
import type { Grant } from "../domain/tokens.ts";
import type { Log } from "../log.ts";
import { clientAddress, type TrustedProxies } from "../proxies.ts";
import type { Budget } from "./rate-limit.ts";
import type { Traffic } from "./traffic.ts";

/** One request and its answer, as far as it has come. */
export interface Exchange {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly request: Request;
  readonly shared: Shared;
  /** `performance.now()` at its start. */
  readonly startedAt: number;
  /** Headers that its answer carries whatever becomes of it, beyond those of all answers. */
  headers: ExtraHeaders | null;
  grant: Grant | null;
  /** What is left of the caller's rate limit, on limited routes. */
  budget: Budget | null;
}

/** The connections of a listener. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
  /** Closes the connection of a request after so long without anything going over it; 0: never. */
  timeout(request: Request, seconds: number): void;
}

/** What all exchanges of one listener have in common. */
export interface Shared {
  readonly log: Log;
  readonly traffic: Traffic;
  /** Headers that every answer carries. Never changed. */
  readonly common: Headers;
  /** For `replyReady`, where an answer has no others than those and its budget. */
  readonly ready: Headers;
  /** Knows who sent a request, once the listener accepts connections. */
  peers: Peers | null;
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
  const ready = new Headers(common);
  return { log, traffic, common, ready, peers: null, trustedProxies };
}

/** Requests that stand for another one, which came over the wire. */
export const originals = new WeakMap<Request, Request>();

/**
 * The address of the peer, or of whom a trusted proxy speaks for; "" when unknown. Not found out before it is needed:
 * that takes as long as a lookup.
 */
export function peerAddress({ request, shared }: Exchange): string {
  const address = shared.peers?.requestIP(originals.get(request) ?? request)?.address ?? "";
  if (shared.trustedProxies === null) return address;
  return clientAddress(address, request.headers.get("x-forwarded-for"), shared.trustedProxies);
}

type ReplyBody = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | null;

const saneRequestId = /^[A-Za-z0-9._:-]{1,64}$/;

export function startExchange(request: Request, shared: Shared): Exchange {
  const url = request.url;
  const pathAt = url.indexOf("/", 8);
  const queryAt = url.indexOf("?", pathAt);
  const given = request.headers.get("x-request-id");
  return {
    requestId: given !== null && saneRequestId.test(given) ? given : newId(),
    method: request.method,
    path: queryAt === -1 ? url.slice(pathAt) : url.slice(pathAt, queryAt),
    request,
    shared,
    startedAt: performance.now(),
    headers: null,
    grant: null,
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

/** Answers. Every answer is made here or, where its headers are ready, by `replyReady`. */
export function reply(exchange: Exchange, status: number, body: ReplyBody, extra?: ExtraHeaders): Response {
  const headers = headersOf(exchange, extra);
  if (body === null) headers.delete("content-type");
  return replyReady(exchange, status, body, headers);
}

/**
 * The one place where an answer is made: it gets its request id, what is left of its rate limit, and its log line.
 * `headers` may be used for one answer after the other, because `Response` copies them; that takes half the time of an
 * object made for each. Then all of these answers, or none, must have a budget.
 */
export function replyReady(exchange: Exchange, status: number, body: ReplyBody, headers: Headers): Response {
  const { shared, budget } = exchange;
  headers.set("x-request-id", exchange.requestId);
  if (budget) {
    headers.set("ratelimit-limit", `${budget.limit}`);
    headers.set("ratelimit-remaining", `${budget.remaining}`);
    headers.set("ratelimit-reset", `${budget.resetSeconds}`);
  }
  const durationMs = performance.now() - exchange.startedAt;
  shared.traffic.count(status, durationMs);
  shared.log.request({
    requestId: exchange.requestId,
    method: exchange.method,
    path: exchange.path,
    status,
    durationMs,
    applicationId: exchange.grant?.applicationId ?? null,
  });
  return new Response(body, { status, headers });
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
