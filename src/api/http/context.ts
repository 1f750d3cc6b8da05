import type { Application } from "../../domain/applications.ts";
import { newId } from "../../domain/ids.ts";
import type { OperatorKey } from "../../domain/operator-keys.ts";
import { type Histogram, newHistogram, observe, type StatisticCounter } from "../../domain/statistics.ts";
import type { Grant } from "../../domain/tokens.ts";
import { clientAddress, clientNetwork, type TrustedProxies } from "../../runtime/client-address.ts";
import type { Log } from "../../runtime/log.ts";
import type { RequestTraces } from "../../runtime/tracing/spans.ts";
import type { ActiveSpan } from "../../runtime/tracing/tracer.ts";
import type { OpenStreams } from "../stream/open-streams.ts";
import { ApplicationTraffic } from "./application-traffic.ts";
import type { RateLimitState } from "./rate-limit.ts";

/** A caller with a valid access token. */
export interface Caller {
  readonly grant: Grant;
  readonly application: Application;
  /** The hash under which the token is stored; null for a JWT of the platform, which is not stored. */
  readonly tokenHash: Uint8Array | null;
}

/** A request and the state that its handling collects. */
export interface RequestContext {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly request: Request;
  readonly listener: ListenerContext;
  /** Taken from `X-Forwarded-For` behind a trusted proxy; "" when unknown. */
  readonly clientAddress: string;
  /** `performance.now()` when the request began. */
  readonly startedAt: number;
  /** null if the request is not traced. */
  readonly span: ActiveSpan | null;
  /** null until the token is verified. */
  caller: Caller | null;
  /** Whether the portal sent it, with the cookie of a session as its token. */
  isFromPortal: boolean;
  /** The operator key of the request; null until it is verified. */
  operatorKey: OperatorKey | null;
  /** Checks during the transfer of a long body; null on routes with short bodies. */
  longBody: LongBody | null;
  /** The application that authenticated itself at an OAuth endpoint. */
  client: Application | null;
  /** The hash of the client secret; null without one. */
  clientSecretHash: Uint8Array | null;
  /** The `operationId` of its route; null before it is routed. */
  operation: string | null;
  /** Whether the access check of a route or of the listener has run. */
  isAdmitted: boolean;
  /** The caller's rate limit after this request; null on routes without a limit. */
  rateLimit: RateLimitState | null;
}

/** A body of which parts take effect before the rest is transferred. */
interface LongBody {
  /** Rejects if the caller has lost access. */
  requireAllowed(): Promise<void>;
  /** Records that the body was interrupted after a part of it took effect. */
  noteBrokenOff(): Promise<void>;
}

/** The state that all requests of a listener share. */
export interface ListenerContext {
  readonly log: Log;
  readonly traffic: Traffic;
  /** Headers of every response. Each response sets its request id here and takes a copy. */
  readonly headers: Headers;
  /** The headers of responses with a rate limit. */
  readonly limitedHeaders: Headers;
  /** Proxies whose `X-Forwarded-For` is trusted; null for none. */
  readonly trustedProxies: TrustedProxies | null;
  /** Limits a request that no route limits. Throws `rate_limited`. null for no limit. */
  readonly admit: ((requestContext: RequestContext) => Promise<void>) | null;
  /** Whether scripts of other origins may send requests (CORS). */
  readonly isCrossOrigin: boolean;
  /** The requests that are answered by a stream without an idle timeout. */
  readonly streams: OpenStreams;
  /** Whether every response ends its connection, because descriptors are scarce. */
  endsConnections: boolean;
  /** null until the listener accepts connections. */
  server: Bun.Server<undefined> | null;
}

/** Returns the headers of every response. @param headers those of one listener */
export function commonHeaders(headers: ExtraHeaders): Headers {
  return new Headers({ "content-type": "application/json", "cache-control": "no-store", ...headers });
}

/** The address of the other end of the connection; "" when unknown. */
const peerOf = (request: Request, { server }: ListenerContext) =>
  clientAddress(server?.requestIP(request)?.address ?? "", null, null);

function clientAddressOf(request: Request, { server, trustedProxies }: ListenerContext): string {
  const peer = server?.requestIP(request)?.address ?? "";
  return clientAddress(peer, trustedProxies && request.headers.get("x-forwarded-for"), trustedProxies);
}

/** Returns the key of a client's rate limit: its IPv4 address or IPv6 /64; "" if unknown. */
export function clientNetworkOf(requestContext: RequestContext): string {
  return clientNetwork(requestContext.clientAddress);
}

type ReplyBody = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | null;

const validRequestId = /^[A-Za-z0-9._:-]{1,64}$/;

/** Returns the context of a new request. Its id is a valid `X-Request-Id` of the caller, or a new one. */
export function newRequestContext(request: Request, listener: ListenerContext): RequestContext {
  const { url, method } = request;
  const pathAt = url.indexOf("/", 8);
  const queryAt = url.indexOf("?", pathAt);
  const given = request.headers.get("x-request-id");
  const path = queryAt === -1 ? url.slice(pathAt) : url.slice(pathAt, queryAt);
  const { traces } = listener.traffic;
  return {
    requestId: given !== null && validRequestId.test(given) ? given : newId(),
    method,
    path,
    request,
    listener,
    clientAddress: clientAddressOf(request, listener),
    startedAt: performance.now(),
    span: traces?.begin(path, request.headers.get("traceparent")) ?? null,
    caller: null,
    isFromPortal: false,
    operatorKey: null,
    longBody: null,
    client: null,
    clientSecretHash: null,
    operation: null,
    isAdmitted: false,
    rateLimit: null,
  };
}

/** Headers of one response; they override those of every response. */
export type ExtraHeaders = Readonly<Record<string, string>>;

/** Makes a response, counts it and logs it. All responses are made here. */
export function reply(
  requestContext: RequestContext,
  status: number,
  body: ReplyBody,
  extra?: ExtraHeaders,
): Response {
  const { listener, rateLimit } = requestContext;
  const headers = rateLimit ? listener.limitedHeaders : listener.headers;
  headers.set("x-request-id", requestContext.requestId);
  if (rateLimit) {
    headers.set("ratelimit-limit", `${rateLimit.limit}`);
    headers.set("ratelimit-remaining", `${rateLimit.remaining}`);
    headers.set("ratelimit-reset", `${rateLimit.resetSeconds}`);
  }
  const response = new Response(body, { status, headers });
  for (const name in extra) response.headers.set(name, extra[name] ?? "");
  if (body === null) response.headers.delete("content-type");
  if (listener.endsConnections || isRefusedAddress(requestContext, status))
    response.headers.set("connection", "close");
  // Bun adds the header to all other responses.
  if (requestContext.method === "HEAD") response.headers.set("date", new Date().toUTCString());
  recordAnswer(requestContext, status);
  return response;
}

/** A secret of this server in a path, also with its underscores encoded. */
const secretInPath = /onair(?:_|%5f)[a-z]{2,5}(?:_|%5f)[^/]{40,}/gi;

/** Returns a path for the log and traces: without secrets, such as the challenge of a login. */
function shownPath(path: string): string {
  return path.includes("onair") ? path.replace(secretInPath, "***") : path;
}

/**
 * Whether a response refuses a client by its address, and the connection is that client's own. It is closed, so that
 * such a client does not hold descriptors. A connection of a trusted proxy has requests of other clients, too.
 */
function isRefusedAddress({ listener, request, caller, clientAddress }: RequestContext, status: number) {
  return status === 429 && caller === null && clientAddress === peerOf(request, listener);
}

/** Counts a response and logs it. */
function recordAnswer(requestContext: RequestContext, status: number): void {
  const { listener, request, requestId, method, startedAt, span, caller, operation } = requestContext;
  const path = shownPath(requestContext.path);
  const durationMs = performance.now() - startedAt;
  const application = caller?.application ?? null;
  const applicationId = application?.id ?? null;
  const traceId = span?.sampledTraceId ?? null;
  listener.traffic.count({ status, durationMs, operation, application, requestId, traceId });
  if (span) {
    const answered = { method, url: request.url, path, status, operation, requestId, applicationId };
    listener.traffic.traces?.end(span, answered);
  }
  const { clientAddress: client } = requestContext;
  listener.log.request({ requestId, method, path, status, durationMs, client, applicationId, traceId });
}

/** Returns a response with a value as JSON. */
export function replyJson(
  requestContext: RequestContext,
  status: number,
  value: unknown,
  extra?: ExtraHeaders,
): Response {
  return reply(requestContext, status, JSON.stringify(value), extra);
}

/** Upper bounds of the histogram's buckets, in seconds. */
const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5] as const;

/** Statuses whose counters exist from the start, so that the first response with one is visible as an increase. */
const usualStatuses = [
  200, 201, 202, 204, 206, 302, 304, 400, 401, 403, 404, 405, 409, 413, 415, 416, 421, 429, 499, 500, 503,
] as const;

/** A completed request. */
interface Answered {
  readonly status: number;
  readonly durationMs: number;
  /** The `operationId` in the document; null for other requests. */
  readonly operation: string | null;
  /** The application of the request's token; null without one. */
  readonly application: { readonly id: string; readonly name: string } | null;
  readonly requestId: string;
  /** null if the request is not traced. */
  readonly traceId: string | null;
}

/** The requests of one listener since its start. */
export class Traffic {
  /** Responses by status. */
  readonly statuses = new Map<number, number>(usualStatuses.map((status) => [status, 0]));
  /** Times to the response, in seconds. */
  readonly seconds: Histogram = newHistogram(durationBounds);
  /** Requests by application. */
  readonly applications = new ApplicationTraffic();
  readonly #counter: StatisticCounter | null;
  readonly #listener: string;

  /** The spans of requests; null if tracing is off. */
  readonly traces: RequestTraces | null;

  /** @param counter counts requests by the names of listener and operation */
  constructor(listener = "", counter: StatisticCounter | null = null, traces: RequestTraces | null = null) {
    this.#listener = listener;
    this.#counter = counter;
    this.traces = traces;
  }

  count({ status, durationMs, operation, application, requestId, traceId }: Answered): void {
    const subject = `${this.#listener} ${operation ?? "other"}`;
    this.#counter?.count("requests", subject, "requests", durationMs, errorOf(status));
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (application) {
      this.applications.count(application, status);
      const limited = status === 429 ? "rate_limited" : undefined;
      this.#counter?.count("applications", application.id, "requests", null, limited);
    }
    const labels =
      traceId === null ? { request_id: requestId } : { request_id: requestId, trace_id: traceId };
    observe(this.seconds, durationMs / 1000, { labels, at: Date.now() });
  }
}

function errorOf(status: number): string | undefined {
  if (status < 400) return undefined;
  return status >= 500 ? "server_errors" : "client_errors";
}
