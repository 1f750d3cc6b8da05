import "./production.ts";
import { type AnyElysia, Elysia, ElysiaCustomStatusResponse, ValidationError } from "elysia";
import { DomainError, invalidField, messageOf } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { Certificate } from "../../operations/certificates.ts";
import { type TrustedProxies, urlOf } from "../../runtime/client-address.ts";
import { endOfTick, inTime } from "../../runtime/event-loop.ts";
import type { Log } from "../../runtime/log.ts";
import {
  commonHeaders,
  type ExtraHeaders,
  type ListenerContext,
  newRequestContext,
  type RequestContext,
  reply,
  Traffic,
} from "./context.ts";
import { endSilentConnections, OpenStreams } from "./descriptors.ts";
import { internalError, replyError, statusOf } from "./errors.ts";
import { ClientClosedRequest, handlerContext, opaque, openGate, whoMay } from "./input.ts";

const unknownPath = new DomainError("not_found", "There is nothing at this path");

const undecodablePath = invalidField("path", "path", "is not valid percent-encoding");

/** Returns the base of both listeners: the context of each request, and error handling. Routes are added to it. */
export function listener(options: {
  log: Log;
  /** Headers of every answer. */
  headers: Readonly<Record<string, string>>;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies?: TrustedProxies | null;
  /** Counts the requests; by default a new counter. */
  traffic?: Traffic;
  /** Limits requests that no route limits; absent or null for no limit. */
  admit?: ListenerContext["admit"];
  /** Whether scripts of other origins may send requests (CORS); by default they may not. */
  isCrossOrigin?: boolean;
}) {
  const none = null as unknown as RequestContext; // set by onRequest before anything reads it
  const {
    log,
    headers,
    trustedProxies = null,
    traffic = new Traffic(),
    admit = null,
    isCrossOrigin = false,
  } = options;
  const listenerContext: ListenerContext = {
    log,
    traffic,
    trustedProxies,
    headers: commonHeaders(headers),
    limitedHeaders: commonHeaders(headers),
    admit,
    isCrossOrigin,
    streams: new OpenStreams(),
    endsConnections: false,
    server: null,
  };
  return (
    new Elysia({ strictPath: true, normalize: false })
      .decorate("listenerContext", listenerContext)
      .decorate("requestContext", none)
      .onError({ as: "global" }, async ({ requestContext, error, code, set }) => {
        const isUnrouted = code === "NOT_FOUND" || error instanceof URIError;
        // Without this answer, a browser would report CORS in place of the 404 of the request itself.
        if (isUnrouted && isCrossOrigin && requestContext.method === "OPTIONS")
          return reply(requestContext, 204, null, preflightHeaders(requestContext.request));
        try {
          if (!requestContext.isAdmitted) await admit?.(requestContext);
        } catch (refusal) {
          return replyError(requestContext, refusal);
        }
        if (code === "NOT_FOUND") return replyError(requestContext, unknownPath);
        // The router throws this for an undecodable path.
        if (error instanceof URIError) return replyError(requestContext, undecodablePath);
        // The input passed the reader but not Elysia's validation: still an error of the request.
        if (error instanceof ValidationError && error.type !== "response")
          return replyError(
            requestContext,
            new DomainError("invalid_parameter", `The ${error.type} is not valid`),
          );
        return replyError(requestContext, error, set.headers as ExtraHeaders);
      })
      // Makes the response from a handler's value. A `Response` was already made by `reply`.
      .mapResponse({ as: "global" }, ({ requestContext, responseValue, set }) =>
        responseValue instanceof Response ? responseValue : replyValue(requestContext, responseValue, set),
      )
      .onRequest(
        opaque((context: { readonly request: Request; requestContext: RequestContext }) => {
          const { request } = context;
          context.requestContext = newRequestContext(request, listenerContext);
          requireConnection(context.requestContext);
          // Without a valid Host, the URL is only a path, in which the router would find another path.
          if (isPathAlone(request.url))
            throw new DomainError("invalid_parameter", "The Host header is not valid");
        }),
      )
  );
}

/**
 * A row of a table of routes: a path, who may call each of its methods, and the function that registers them. `/x/*`
 * stands for `/x` and every path below it that has no row of its own.
 */
export type RouteRow<App, Deps, Who> = readonly [
  path: string,
  who: Readonly<Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Who>>>,
  register: (app: App, deps: Deps) => void,
];

/** Registers the routes of a table, in its order. */
export function registerRoutes<App, Deps>(
  app: App,
  deps: Deps,
  table: readonly RouteRow<App, Deps, unknown>[],
): void {
  for (const register of new Set(table.map(([, , register]) => register))) register(app, deps);
}

/**
 * Completes an app after all routes are registered: HEAD uses the route of GET, a wrong method is 405 with `Allow`, and
 * OPTIONS answers 204. HEAD has routes of its own, because Elysia's answer to it reads the whole body for its length,
 * which event streams and backups cannot afford; Bun drops the body.
 */
export function answerOtherMethods(app: AnyElysia): void {
  const methods = new Map<string, Set<string>>();
  for (const { method, path, handler, hooks } of [...app.routes]) {
    // A registered route has wider types than `route` accepts.
    if (method === "GET") app.route("HEAD", path, ownHandler(handler), hidden(hooks));
    const known = methods.get(path) ?? new Set();
    methods.set(path, known.add(method));
    if (method === "GET") known.add("HEAD");
  }
  for (const [path, known] of methods) {
    if (known.has("ALL")) continue;
    const allow = [...known, "OPTIONS"].join(", ");
    app.all(
      path,
      (context) => {
        const { requestContext, request } = handlerContext(context);
        if (request.method === "OPTIONS") {
          const crossOrigin = requestContext.listener.isCrossOrigin ? preflightHeaders(request) : {};
          return reply(requestContext, 204, null, { ...crossOrigin, allow });
        }
        throw new DomainError("method_not_allowed", `This path supports ${allow}`, { allow });
      },
      { transform: openGate, detail: { hide: true }, parse: "none" },
    );
  }
}

/**
 * Returns the headers that permit the request that a preflight announces (Fetch Standard, "CORS-preflight fetch"). They
 * permit every method and header, because requests of other origins carry no cookies: what an origin may do is decided
 * by its token. So the request itself shows whether its path exists and which methods it has.
 */
function preflightHeaders({ headers }: Request): ExtraHeaders {
  return {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    // `*` does not include Authorization.
    "access-control-allow-headers": headers.get("access-control-request-headers") ?? "*, Authorization",
    "access-control-max-age": "86400",
  };
}

/**
 * Clones a handler that is a `Response`, such as the page of the API reference: Elysia reads its body for each route.
 */
function ownHandler(handler: unknown): () => unknown {
  return (handler instanceof Response ? handler.clone() : handler) as () => unknown;
}

/**
 * Throws if the connection was closed before the request was handled, as when the client sent another request
 * meanwhile. Such a request gets no answer, so it takes no effect, and no limit can count it: its address is unknown.
 */
function requireConnection(requestContext: RequestContext): void {
  if (requestContext.clientAddress !== "" || requestContext.listener.server === null) return;
  requestContext.isAdmitted = true; // no limit counts it
  throw new ClientClosedRequest("The connection was closed before the request was handled");
}

/** Whether the URL of a request lacks a host, because its `Host` is not valid or, in HTTP/1.0, missing. */
const isPathAlone = (url: string) => url.startsWith("/");

/**
 * Returns a request whose URL Elysia's router can read. The router searches for the path from the eleventh character
 * on, so that it finds another path after a host of fewer than four characters, and where a request of HTTP/1.0 has no
 * `Host` (RFC 1945). In both cases `localhost` becomes the host of the URL. Nothing else reads that host.
 */
function routable(request: Request): Request {
  const { url } = request;
  const hasNoHost = isPathAlone(url);
  if (hasNoHost ? request.headers.has("host") : url.indexOf("/", 8) >= 11) return request;
  const target = hasNoHost ? url : url.slice(url.indexOf("/", 8));
  // A copy of the request would have no client address.
  return Object.defineProperty(request, "url", { value: `http://localhost${target}` });
}

/** A listener that accepts connections. */
export interface Listening {
  /** The URL of the listener, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /**
   * Uses this certificate for new connections. Idle connections are closed; requests and streams in progress are
   * completed. Throws if the listener has no certificate, or the new certificate is invalid.
   */
  replaceCertificate(certificate: Certificate): void;
  /**
   * From now on each response ends its connection, so that clients and proxies keep none open when the listener stops.
   * It goes on accepting connections.
   */
  drain(): void;
  /**
   * Closes connections without a request in progress. From then on each response ends its connection, until the next
   * call with 0.
   * @param excess the number of descriptors to set free
   * @param limit the limit of descriptors
   */
  makeRoom(excess: number, limit: number): void;
  /** Stops accepting connections, waits up to `graceMs` for requests in flight, then closes them. */
  stop(graceMs: number): Promise<void>;
}

/** Makes the response from a handler's value, or from the value and status of `status(…)`; undefined has no body. */
function replyValue(
  requestContext: RequestContext,
  returned: unknown,
  set: { status?: number | string; headers: Readonly<Record<string, string | number>> },
): Response {
  const hasStatus = returned instanceof ElysiaCustomStatusResponse;
  const status = Number(hasStatus ? returned.code : (set.status ?? 200));
  const value = hasStatus ? returned.response : returned;
  const body = status === 204 || value === undefined ? null : JSON.stringify(value);
  return reply(requestContext, status, body, set.headers as ExtraHeaders);
}

const hidden = (hooks: { detail?: object }) => ({ ...hooks, detail: { hide: true } });

/** An app made by `listener`. */
export interface ServedApp {
  readonly routes: AnyElysia["routes"];
  compile(): { fetch(request: Request): Response | Promise<Response> };
  readonly decorator: { readonly listenerContext: ListenerContext };
}

/** Bun closes a connection after this time without a byte in either direction. */
const idleSeconds = 60;

/** The place of a request among those in progress. */
interface Place {
  readonly request: Request;
  at: number;
}

/** The requests that have no response yet. Each is removed in constant time, without the hash that a Set needs. */
class RequestsInProgress {
  readonly places: Place[] = [];

  add(request: Request): Place {
    const place = { request, at: this.places.length };
    this.places.push(place);
    return place;
  }

  /** Moves the last request to the place of the removed one. */
  remove(place: Place): void {
    const last = this.places.pop();
    if (last === undefined || last === place) return;
    last.at = place.at;
    this.places[place.at] = last;
  }
}

/** The address and certificate of a listener. */
interface Address {
  readonly hostname: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** The option that sets the port, for error messages. */
  readonly portOption?: string;
  /** null for plain HTTP. */
  readonly certificate?: Certificate | null;
}

/**
 * Serves an app with `Bun.serve`. Throws if the port is in use or a route has no gate. Bun's limit of the size of
 * bodies is off, because Bun refuses a larger one without a body in the answer; the readers of bodies have limits of
 * their own.
 */
export function listen(app: ServedApp, address: Address): Listening {
  const { hostname, port, portOption = "--port", certificate = null } = address;
  for (const route of app.routes) whoMay(route);
  const { fetch } = app.compile();
  const context = app.decorator.listenerContext;
  const inProgress = new RequestsInProgress();
  let isDraining = false;
  const options = {
    hostname,
    development: false,
    idleTimeout: idleSeconds,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // Handling all requests of a tick together takes much less time than one by one; see docs/decisions.md.
    async fetch(request: Request) {
      const place = inProgress.add(request);
      await endOfTick();
      try {
        return await fetch(routable(request));
      } finally {
        inProgress.remove(place);
      }
    },
    // Handles errors that Elysia throws before the listener's error handler applies, as when it compiles a route.
    error: (error: Error) => failed(error, context),
  };
  // `server.reload` ignores certificates. So a listener with a certificate shares its port with its successor, and
  // checks beforehand that no other process uses the port.
  const secure = (port: number, { cert, key, clientCa }: Certificate) => {
    const clients = clientCa !== null && { ca: clientCa, requestCert: true, rejectUnauthorized: true };
    return Bun.serve({ ...options, port, reusePort: true, tls: { cert, key, ...clients } });
  };
  const begin = () => {
    if (!certificate) return Bun.serve({ ...options, port, reusePort: false });
    return secure(probedPort(hostname, port), certificate);
  };
  let server = explainListenError(hostname, port, portOption, begin);
  const former = new Set<typeof server>();
  context.server = server;
  return {
    url: urlOf(hostname, server.port ?? port, certificate !== null),
    port: server.port ?? port,
    replaceCertificate(next) {
      if (!certificate) throw new TypeError("This listener speaks plain HTTP");
      const last = server;
      server = secure(last.port ?? port, next);
      context.server = server;
      former.add(last);
      void last.stop().then(() => former.delete(last));
    },
    drain() {
      isDraining = true;
      context.endsConnections = true;
    },
    makeRoom(excess, limit) {
      context.endsConnections = isDraining || excess > 0;
      if (excess === 0) return;
      const atMost = excess - server.closeIdleConnections();
      const ports = inProgress.places.map(({ request }) => server.requestIP(request)?.port ?? 0);
      const busyPorts = new Set([...ports, ...context.streams.ports(server)]);
      endSilentConnections({ port: server.port ?? port, atMost, busyPorts, limit });
    },
    async stop(graceMs) {
      const all = [...former, server];
      const graceful = Promise.all(all.map((server) => server.stop()));
      await inTime(graceful, graceMs);
      await Promise.all(all.map((server) => server.stop(true)));
    },
  };
}

function failed(error: Error, { log, headers }: ListenerContext): Response {
  const requestId = newId();
  log.failure("internal_error", error, { request_id: requestId });
  const body = { message: internalError, code: "internal_error", errors: [], request_id: requestId };
  const answer = Response.json(body, { status: statusOf.internal_error, headers });
  answer.headers.set("x-request-id", requestId);
  return answer;
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program uses this port; stop it, or choose another port",
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "this user is not permitted to listen on this port",
};

/**
 * Runs `serve`. An error of `serve` is thrown again with the address and the reason in its message.
 * @param option the option that sets the port
 */
export function explainListenError<T>(hostname: string, port: number, option: string, serve: () => T): T {
  try {
    return serve();
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    if (code?.startsWith("ERR_OSSL"))
      throw new Error(`${hostname}, port ${port}: the certificate or its key is invalid (${message})`);
    const why = reasons[code ?? ""] ?? "cannot listen on this address";
    const remedy = code === "EADDRINUSE" ? ` with ${option}` : "";
    throw Object.assign(new Error(`${hostname}, port ${port}: ${why}${remedy}`, { cause: error }), { code });
  }
}

/** Listens at an address for a moment, and returns its port. Throws if that fails. */
function probedPort(hostname: string, port: number): number {
  const probe = Bun.serve({ hostname, port, reusePort: false, fetch: () => new Response() });
  void probe.stop(true);
  return probe.port ?? port;
}

/** Says why this process cannot listen at an address; null if it can. @param option the option that sets the port */
export function listenProblem(hostname: string, port: number, option: string): string | null {
  try {
    explainListenError(hostname, port, option, () => probedPort(hostname, port));
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

interface RedirectOptions {
  readonly hostname: string;
  /** 0 selects a free port. */
  readonly port: number;
  /**
   * The destination URL, without a trailing slash. The `Host` of the request is never used, because the client chooses
   * it.
   */
  readonly to: string;
}

/** Redirects every request to the same path of another URL, with 308. Throws if the port is in use. */
export function startRedirect({ hostname, port, to }: RedirectOptions) {
  const answer = ({ url }: Request) => {
    const { pathname, search } = new URL(url, to);
    return new Response(null, {
      status: 308,
      headers: { location: `${to}${pathname}${search}`, connection: "close" },
    });
  };
  const options = { hostname, port, reusePort: false, development: false, idleTimeout: 10, fetch: answer };
  const server = explainListenError(hostname, port, "--redirect-port", () => Bun.serve(options));
  return { port: server.port ?? port, stop: (_graceMs: number) => server.stop(true) };
}
