import { newId } from "../domain/ids.ts";
import type { Grant } from "../domain/tokens.ts";
import type { Log } from "../log.ts";
import type { Budget } from "./rate-limit.ts";

/** One request and its answer, as far as it has come. */
export interface Exchange {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** Address of the peer, "" when unknown. */
  readonly address: string;
  /** `performance.now()` at its start. */
  readonly startedAt: number;
  readonly log: Log;
  /** Headers that its answer carries whatever becomes of it. */
  headers: Readonly<Record<string, string>>;
  grant: Grant | null;
  /** What is left of the caller's rate limit, on limited routes. */
  budget: Budget | null;
}

const saneRequestId = /^[A-Za-z0-9._:-]{1,64}$/;

export function startExchange(
  request: Request,
  address: string,
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
    address,
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
  body: string | Uint8Array<ArrayBuffer> | Blob | null,
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
    headers["ratelimit-limit"] = String(budget.limit);
    headers["ratelimit-remaining"] = String(budget.remaining);
    headers["ratelimit-reset"] = String(budget.resetSeconds);
  }
  if (extra) Object.assign(headers, extra);
  if (body === null) delete headers["content-type"];
  exchange.log.info("request", {
    request_id: exchange.requestId,
    method: exchange.method,
    path: exchange.path,
    status,
    duration_ms: Math.round((performance.now() - exchange.startedAt) * 1000) / 1000,
    application_id: exchange.grant?.applicationId,
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
