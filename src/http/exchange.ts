import type { Application } from "../domain/applications.ts";
import { newId } from "../domain/ids.ts";
import type { Grant } from "../domain/tokens.ts";
import type { Log } from "../log.ts";
import { clientAddress, clientNetwork, peerAddress, type TrustedProxies } from "../proxies.ts";
import type { Caller } from "./auth.ts";
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
  grant: Grant | null;
  /** Who sent it, once its token was found good. */
  caller: Caller | null;
  /** The application that authenticated itself, at an endpoint of OAuth. */
  client: Application | null;
  /** Whether a route has decided on it: let it in, or refused it. */
  isAdmitted: boolean;
  /** What is left of the caller's rate limit, on limited routes. */
  budget: Budget | null;
}

/** What all exchanges of one listener have in common. */
export interface Shared {
  readonly log: Log;
  readonly traffic: Traffic;
  /** Headers that every answer carries. Never changed. */
  readonly common: Headers;
  /** Proxies whose `X-Forwarded-For` is believed; null: none. */
  readonly trustedProxies: TrustedProxies | null;
  /** null until it listens. */
  server: Bun.Server<undefined> | null;
}

/** @param headers headers that every answer of the listener carries */
export function commonHeaders(headers: ExtraHeaders): Headers {
  return new Headers({ "content-type": "application/json", "cache-control": "no-store", ...headers });
}

/** The client's address: behind a trusted proxy the one that it forwards for; "" when unknown. */
export function clientAddressOf({ request, shared }: Exchange): string {
  const address = shared.server?.requestIP(request)?.address ?? "";
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
  const { url, method } = request;
  const pathAt = url.indexOf("/", 8);
  const queryAt = url.indexOf("?", pathAt);
  const given = request.headers.get("x-request-id");
  return {
    requestId: given !== null && saneRequestId.test(given) ? given : newId(),
    method,
    path: queryAt === -1 ? url.slice(pathAt) : url.slice(pathAt, queryAt),
    request,
    shared,
    startedAt: performance.now(),
    grant: null,
    caller: null,
    client: null,
    isAdmitted: false,
    budget: null,
  };
}

/** Headers beyond those that every answer has; they win over them. */
export type ExtraHeaders = Readonly<Record<string, string>>;

/** Makes every answer, counts it and writes its line into the log. */
export function reply(exchange: Exchange, status: number, body: ReplyBody, extra?: ExtraHeaders): Response {
  const { shared, budget } = exchange;
  const headers = new Headers(shared.common);
  for (const name in extra) headers.set(name, extra[name] ?? "");
  if (body === null) headers.delete("content-type");
  headers.set("x-request-id", exchange.requestId);
  if (budget) {
    headers.set("ratelimit-limit", `${budget.limit}`);
    headers.set("ratelimit-remaining", `${budget.remaining}`);
    headers.set("ratelimit-reset", `${budget.resetSeconds}`);
  }
  answered(exchange, status);
  return new Response(body, { status, headers });
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

/** Answers with a value as JSON. */
export function replyJson(
  exchange: Exchange,
  status: number,
  value: unknown,
  extra?: ExtraHeaders,
): Response {
  return reply(exchange, status, JSON.stringify(value), extra);
}
