import { newId } from "../domain/ids.ts";
import type { Grant } from "../domain/tokens.ts";
import type { Log } from "../log.ts";
import { clientAddress, type TrustedProxies } from "../proxies.ts";
import type { Budget } from "./rate-limit.ts";

/** One request and its answer, as far as it has come. */
export interface Exchange {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly request: Request;
  readonly peers: Peers;
  /** `performance.now()` at its start. */
  readonly startedAt: number;
  readonly log: Log;
  /** Headers that its answer carries whatever becomes of it. */
  headers: Readonly<Record<string, string>>;
  grant: Grant | null;
  /** What is left of the caller's rate limit, on limited routes. */
  budget: Budget | null;
}

/** Knows who sent a request, once the listener accepts connections. */
export interface Peers {
  finder: { requestIP(request: Request): { readonly address: string } | null } | null;
  /** null: no proxy is in front. */
  readonly trusted: TrustedProxies | null;
}

/** Requests that stand for another one, which came over the wire. */
export const originals = new WeakMap<Request, Request>();

/**
 * The address of the peer, or of whom a trusted proxy speaks for; "" when unknown. Not found out before it is needed:
 * that takes as long as a lookup.
 */
export function peerAddress({ request, peers }: Exchange): string {
  const address = peers.finder?.requestIP(originals.get(request) ?? request)?.address ?? "";
  if (peers.trusted === null) return address;
  return clientAddress(address, request.headers.get("x-forwarded-for"), peers.trusted);
}

const saneRequestId = /^[A-Za-z0-9._:-]{1,64}$/;

export function startExchange(
  request: Request,
  peers: Peers,
  log: Log,
  headers: Readonly<Record<string, string>>,
): Exchange {
  const url = request.url;
  const pathAt = url.indexOf("/", 8);
  const queryAt = url.indexOf("?", pathAt);
  const given = request.headers.get("x-request-id");
  return {
    requestId: given !== null && saneRequestId.test(given) ? given : newId(),
    method: request.method,
    path: queryAt === -1 ? url.slice(pathAt) : url.slice(pathAt, queryAt),
    request,
    peers,
    startedAt: performance.now(),
    log,
    headers,
    grant: null,
    budget: null,
  };
}

/** Headers beyond those that every answer has; they win over them. */
export type ExtraHeaders = Readonly<Record<string, string>>;

/**
 * The one place where an answer is made: it gets its common headers and its log line here. All headers go into one
 * `Response`, because merging them in afterwards costs a third of the throughput.
 */
export function reply(
  exchange: Exchange,
  status: number,
  body: string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | null,
  extra?: ExtraHeaders,
): Response {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-request-id": exchange.requestId,
    ...exchange.headers,
  };
  const { budget } = exchange;
  if (budget) {
    headers["ratelimit-limit"] = `${budget.limit}`;
    headers["ratelimit-remaining"] = `${budget.remaining}`;
    headers["ratelimit-reset"] = `${budget.resetSeconds}`;
  }
  if (extra) Object.assign(headers, extra);
  if (body === null) delete headers["content-type"];
  exchange.log.request({
    requestId: exchange.requestId,
    method: exchange.method,
    path: exchange.path,
    status,
    durationMs: performance.now() - exchange.startedAt,
    applicationId: exchange.grant?.applicationId ?? null,
  });
  return new Response(body, { status, headers });
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
