import type { Application } from "../../domain/applications.ts";
import type { AuditedChange } from "../../domain/audit.ts";
import {
  type DeprecatedUse,
  type DeprecatingApi,
  deprecatedName,
  deprecationHeaders,
} from "../../domain/deprecations.ts";
import { newId } from "../../domain/ids.ts";
import type { OperatorKey } from "../../domain/operator-keys.ts";
import type { RequestCounter } from "../../domain/requests.ts";
import { type Histogram, newHistogram, observe, type StatisticCounter } from "../../domain/statistics.ts";
import { minute } from "../../domain/time.ts";
import type { Grant } from "../../domain/tokens.ts";
import { clientAddress, clientNetwork, type TrustedProxies } from "../../runtime/client-address.ts";
import type { Log } from "../../runtime/log.ts";
import type { ActiveSpan, RequestTraces } from "../../runtime/tracing.ts";
import type { OpenStreams } from "./descriptors.ts";

/** A caller with a valid access token. */
export interface Caller {
  readonly grant: Grant;
  readonly application: Application;
  /** The hash under which the token is stored; null for a JWT of the platform, which is not stored. */
  readonly tokenHash: Uint8Array | null;
}

/** The state of a rate limit after a request. */
export interface RateLimitState {
  readonly allowed: boolean;
  /** Requests per minute. */
  readonly limit: number;
  /** Requests that may be made now. */
  readonly remaining: number;
  /** Seconds until the full limit is available again. */
  readonly resetSeconds: number;
  /** Seconds until the next request is allowed; 0 when it is allowed now. */
  readonly retryAfterSeconds: number;
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
  /** The access token that the gate of the route read, also from the cookie of the portal; null without one. */
  token: string | null;
  /** Whether the portal sent it, with the cookie of a session as its token. */
  isFromPortal: boolean;
  /** The operator key of the request; null until it is verified. */
  operatorKey: OperatorKey | null;
  /** What the request changed, for the audit log; null when it changed nothing that has a name or values. */
  change: AuditedChange | null;
  /** Checks during the transfer of a long body; null on routes with short bodies. */
  longBody: LongBody | null;
  /** The application that authenticated itself at an OAuth endpoint; null on other routes. */
  oauthClient: Application | null;
  /** The hash of the secret with which the OAuth client authenticated itself; null without a secret. */
  oauthClientSecretHash: Uint8Array | null;
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
  /** Whether every response ends its connection, because the server is stopping or descriptors are scarce. */
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

/** Returns the context of a new request. The request id is a valid `X-Request-Id` of the caller, or a new id. */
export function newRequestContext(request: Request, listener: ListenerContext): RequestContext {
  const { url, method } = request;
  const pathAt = url.indexOf("/", 8);
  const queryAt = url.indexOf("?", pathAt);
  const sentId = request.headers.get("x-request-id");
  const path = queryAt === -1 ? url.slice(pathAt) : url.slice(pathAt, queryAt);
  const { traces } = listener.traffic.observers;
  return {
    requestId: sentId !== null && validRequestId.test(sentId) ? sentId : newId(),
    method,
    path,
    request,
    listener,
    clientAddress: clientAddressOf(request, listener),
    startedAt: performance.now(),
    span: traces?.begin(path, request.headers.get("traceparent")) ?? null,
    caller: null,
    token: null,
    isFromPortal: false,
    operatorKey: null,
    change: null,
    longBody: null,
    oauthClient: null,
    oauthClientSecretHash: null,
    operation: null,
    isAdmitted: false,
    rateLimit: null,
  };
}

/** Headers of one response; they override those of every response. */
export type ExtraHeaders = Readonly<Record<string, string>>;

/** Makes a response, counts it and logs it. All responses are made here. @param code that of an error */
export function reply(
  requestContext: RequestContext,
  status: number,
  body: ReplyBody,
  extra?: ExtraHeaders,
  code = "",
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
  announceDeprecated(requestContext, response);
  if (listener.endsConnections || isRefusedAddress(requestContext, status))
    response.headers.set("connection", "close");
  // Bun adds the header to all other responses.
  if (requestContext.method === "HEAD") response.headers.set("date", new Date().toUTCString());
  recordAnswer(requestContext, status, code);
  return response;
}

/** Says that a request uses something deprecated: in headers of its response, in the log, and to the findings. */
function announceDeprecated(requestContext: RequestContext, response: Response): void {
  const { listener, operation, request, requestId, caller, operatorKey } = requestContext;
  const { name, observers } = listener.traffic;
  const { deprecated } = observers;
  if (!deprecated || (name !== "public" && name !== "admin")) return;
  const used = deprecated.ofRequest(name as DeprecatingApi, operation, request.url);
  if (used.length === 0) return; // reading `response.headers` would make another view of them
  for (const [header, value] of Object.entries(deprecationHeaders(used))) response.headers.set(header, value);
  for (const deprecation of used) {
    const by = caller?.application.name ?? operatorKey?.name ?? null;
    deprecated.count(deprecation, Date.now(), by);
    const what = deprecatedName(deprecation);
    const { since, removedIn, sunsetDay, instead } = deprecation;
    listener.log.repeated("warn", "deprecated_request", `${what} ${by}`, {
      request_id: requestId,
      what,
      since,
      removed_in: removedIn,
      sunset: sunsetDay,
      instead,
      ...(caller && { application_id: caller.application.id }),
    });
  }
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
function recordAnswer(requestContext: RequestContext, status: number, code: string): void {
  const { listener, request, requestId, method, startedAt, span, caller, operation, isFromPortal } =
    requestContext;
  const path = shownPath(requestContext.path);
  const durationMs = performance.now() - startedAt;
  const application = caller?.application ?? null;
  const applicationId = application?.id ?? null;
  const traceId = span?.sampledTraceId ?? null;
  listener.traffic.count({
    status,
    durationMs,
    operation,
    application,
    isFromPortal,
    code,
    requestId,
    traceId,
  });
  if (span) {
    const answered = { method, url: request.url, path, status, operation, requestId, applicationId };
    listener.traffic.observers.traces?.end(span, answered);
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
  code?: string,
): Response {
  return reply(requestContext, status, JSON.stringify(value), extra, code);
}

/** Upper bounds of the histogram's buckets, in seconds. */
const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5] as const;

/** Statuses whose counters exist from the start, so that the first response with such a status is an increase. */
const usualStatuses = [
  200, 201, 202, 204, 206, 302, 304, 400, 401, 403, 404, 405, 409, 413, 415, 416, 421, 429, 499, 500, 503,
] as const;

/** A completed request. */
interface Answered {
  readonly status: number;
  readonly durationMs: number;
  /** The `operationId` in the document; null for other requests. */
  readonly operation: string | null;
  /** The application of the request's token; null without a token. */
  readonly application: { readonly id: string; readonly name: string } | null;
  readonly isFromPortal: boolean;
  /** The code of an error; "" without an error. */
  readonly code: string;
  readonly requestId: string;
  /** null if the request is not traced. */
  readonly traceId: string | null;
}

/** What is told of each request of a listener. */
interface Observers {
  /** Counts requests by the names of listener and operation. */
  readonly counter?: StatisticCounter;
  /** Counts the requests of each application. */
  readonly requests?: RequestCounter;
  /** The spans of requests; absent or null if tracing is off. */
  readonly traces?: RequestTraces | null;
  /** The requests that use something deprecated; absent if they are not looked for. */
  readonly deprecated?: DeprecatedUse;
}

/** The requests of one listener since its start. */
export class Traffic {
  /** Responses by status. */
  readonly statuses = new Map<number, number>(usualStatuses.map((status) => [status, 0]));
  /** Times to the response, in seconds. */
  readonly seconds: Histogram = newHistogram(durationBounds);
  /** Requests by application. */
  readonly applications = new ApplicationTraffic();
  /** @param name the name of the listener */
  constructor(
    readonly name = "",
    readonly observers: Observers = {},
  ) {}

  count(answered: Answered): void {
    const { status, durationMs, operation, application, isFromPortal, code, requestId, traceId } = answered;
    const subject = `${this.name} ${operation ?? "other"}`;
    this.observers.counter?.count("requests", subject, "requests", durationMs, errorOf(status));
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (application) {
      this.applications.count(application, status);
      const limited = status === 429 ? "rate_limited" : undefined;
      this.observers.counter?.count("applications", application.id, "requests", null, limited);
      if (!isFromPortal)
        this.observers.requests?.count({ applicationId: application.id, operation, status, code, requestId });
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

/** The most applications with counts of their own. */
const mostShown = 20;
/** The most applications whose recent requests are compared. */
const mostCompared = 10_000;
/** The weight of earlier minutes: half is left after about ten. */
const keptPart = 0.93;
/** How many times as many recent requests an application needs to replace another one, so that two do not alternate. */
const clearlyMore = 1.5;

interface CountedApplication {
  readonly id: string;
  readonly name: string;
}

/** The counts of one application, or of all others. */
interface ApplicationCounts {
  /** `other` for all others. */
  readonly id: string;
  readonly name: string;
  requests: number;
  /** Requests that were answered with the status 429. */
  limited: number;
}

const newCounts = (id: string, name: string): ApplicationCounts => ({ id, name, requests: 0, limited: 0 });

interface Recent {
  readonly id: string;
  name: string;
  /** The requests of the last minutes. Earlier requests count less. */
  weight: number;
  /** null while its requests count as those of others. */
  own: ApplicationCounts | null;
}

/**
 * Requests by application, for a monitoring system that stores a series for each: those of the 20 applications with the
 * most requests of late, and those of all others together. Each count only grows while it is shown; an application that
 * replaces another one begins at 0.
 */
export class ApplicationTraffic {
  readonly #recent = new Map<string, Recent>();
  readonly #others: ApplicationCounts = { id: "other", name: "other", requests: 0, limited: 0 };
  readonly #now: () => number;
  #rankedAt: number;
  #shownCount = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#rankedAt = now();
  }

  count({ id, name }: CountedApplication, status: number): void {
    if (Math.abs(this.#now() - this.#rankedAt) >= minute) this.#rank();
    let recent = this.#recent.get(id);
    if (!recent && this.#recent.size < mostCompared) {
      recent = { id, name, weight: 0, own: null };
      this.#recent.set(id, recent);
    }
    if (recent) {
      recent.weight++;
      // A changed name is a series of its own.
      if (recent.name !== name && recent.own) recent.own = newCounts(id, name);
      recent.name = name;
      if (!recent.own && this.#shownCount < mostShown) this.#show(recent);
    }
    const counts = recent?.own ?? this.#others;
    counts.requests++;
    if (status === 429) counts.limited++;
  }

  #show(recent: Recent): void {
    recent.own = newCounts(recent.id, recent.name);
    this.#shownCount++;
  }

  /** Lets earlier requests count less, and gives the places of the least to those with clearly more. */
  #rank(): void {
    this.#rankedAt = this.#now();
    for (const [id, recent] of this.#recent) {
      recent.weight *= keptPart;
      if (!recent.own && recent.weight < 0.1) this.#recent.delete(id);
    }
    const byWeight = [...this.#recent.values()].sort((a, b) => a.weight - b.weight);
    const least = byWeight.filter(({ own }) => own !== null);
    const candidates = byWeight.filter(({ own }) => own === null).reverse();
    for (const [i, candidate] of candidates.slice(0, mostShown).entries()) {
      const replaced = least[i];
      if (!replaced || candidate.weight < replaced.weight * clearlyMore) break;
      replaced.own = null;
      this.#shownCount--;
      this.#show(candidate);
    }
  }

  /** Returns the counts of the applications with the most requests, and of all others. */
  counts(): readonly Readonly<ApplicationCounts>[] {
    return [...[...this.#recent.values()].flatMap(({ own }) => own ?? []), this.#others];
  }
}
