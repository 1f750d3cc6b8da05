import "./production.ts";
import { type AnyElysia, Elysia } from "elysia";
import { DomainError, invalidFields } from "../domain/errors.ts";
import { second } from "../domain/time.ts";
import type { Log } from "../log.ts";
import type { TrustedProxies } from "../proxies.ts";
import { replyError } from "./errors.ts";
import {
  arrivals,
  type Client,
  type Exchange,
  reply,
  type Shared,
  sharedBy,
  startExchange,
} from "./exchange.ts";
import { Traffic } from "./traffic.ts";

export const nothingHere = new DomainError("not_found", "There is nothing at this path");

const undecodablePath = invalidFields([
  { in: "path", field: "path", message: "is not valid percent-encoding" },
]);

/** Not Elysia's `server` of the context: a hook that reads it slows down every request by a defined property. */
const sharedByApp = new WeakMap<object, Shared>();

/** What both listeners share: the exchange of each request, and errors in one shape. Routes are added to it. */
export function listener(options: {
  log: Log;
  /** Headers that every answer carries. */
  headers: Readonly<Record<string, string>>;
  /** Proxies in front, whose `X-Forwarded-For` is believed. */
  trustedProxies?: TrustedProxies | null;
  /** Where its requests are counted; memory of its own where left out. */
  traffic?: Traffic;
  /** Limits a request on which no route has decided: throws `rate_limited`. */
  gate?: (exchange: Exchange) => void;
}) {
  const none = null as unknown as Exchange; // set by onRequest before anything reads it
  const { log, headers, trustedProxies = null, traffic = new Traffic(), gate } = options;
  const shared = sharedBy(log, headers, trustedProxies, traffic);
  const app = new Elysia({ strictPath: true, normalize: false })
    .decorate("exchange", none)
    .onError({ as: "global" }, ({ exchange, error, code }) => {
      try {
        if (!exchange.isAdmitted) gate?.(exchange);
      } catch (refusal) {
        return replyError(exchange, refusal);
      }
      if (code === "NOT_FOUND") return replyError(exchange, nothingHere);
      // Thrown by the router itself.
      if (error instanceof URIError) return replyError(exchange, undecodablePath);
      return replyError(exchange, error);
    })
    .onRequest((context) => {
      const { request } = context;
      context.exchange = startExchange(request, shared);
      // The router looks for the path from the eleventh character on: a shorter host would let it see another path.
      if (hostIsShort(request.url))
        throw new DomainError("invalid_parameter", "The Host header is too short");
    });
  // Also what is no route of the API, such as its document. A preflight asks for nothing yet.
  if (gate) {
    app.onBeforeHandle(({ exchange, request }) => {
      if (!exchange.isAdmitted && request.method !== "OPTIONS") gate(exchange);
    });
  }
  sharedByApp.set(app, shared);
  return app;
}

export type Listener = ReturnType<typeof listener>;

/** What a handler is told, for routes of either listener, whose types Elysia cannot unite. */
export function asked(context: unknown) {
  return context as { exchange: Exchange; request: Request; params: Readonly<Record<string, string>> };
}

/**
 * Completes an app whose routes are all registered: a wrong method is 405 with `Allow`, and OPTIONS answers, with
 * `preflight` as further headers.
 */
export function answerOtherMethods(app: AnyElysia, preflight: Readonly<Record<string, string>>): void {
  const methods = new Map<string, Set<string>>();
  for (const { method, path } of app.routes) {
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
        const { exchange, request } = asked(context);
        if (request.method === "OPTIONS") {
          const headers = { ...preflight, allow, "access-control-allow-methods": allow };
          return reply(exchange, 204, null, headers);
        }
        throw new DomainError("method_not_allowed", `This path answers ${allow}`, { allow });
      },
      { detail: { hide: true }, parse: "none" },
    );
  }
}

/** What the exchanges of a listener have in common. */
export function sharedOf(app: AnyElysia): Shared {
  const shared = sharedByApp.get(app);
  if (!shared) throw new Error("The app was not made by listener()");
  return shared;
}

/** What a listener has answered since its start. */
export function trafficOf(app: AnyElysia): Traffic {
  return sharedOf(app).traffic;
}

const hostIsShort = (url: string) => url.indexOf("/", 8) < 11;

/** A listener that accepts connections. */
export interface Listening {
  /** Its address as a URL without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Stops accepting, lets requests in flight finish for up to `graceMs`, then cuts them off. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Serves an app by `Bun.serve`. HEAD is answered by its GET route; Bun leaves the body out. Throws when the port is
 * taken. Bun's own size limit is off, because its answer would have no body: the readers of bodies have theirs.
 */
export function listen(app: AnyElysia, hostname: string, port: number): Listening {
  const { fetch } = app.compile();
  const options = {
    hostname,
    port,
    reusePort: false,
    development: false,
    idleTimeout: 60,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch(request: Request, server: Bun.Server<undefined>) {
      const { method } = request;
      const given = method === "HEAD" ? new Request(request, { method: "GET" }) : request;
      arrivals.set(given, { method, client: clientOf(request, server) });
      return fetch(given);
    },
  };
  const server = listened(hostname, port, () => Bun.serve(options));
  return {
    url: urlOf(hostname, server.port ?? port),
    port: server.port ?? port,
    async stop(graceMs) {
      const graceful = server.stop();
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, graceMs);
      await Promise.race([graceful, late.promise]);
      clearTimeout(timer);
      await server.stop(true);
    },
  };
}

/** The other end of a request's connection; null when it is gone already. */
function clientOf(request: Request, server: Bun.Server<undefined>): Client | null {
  const peer = server.requestIP(request);
  if (peer === null) return null;
  return {
    address: peer.address,
    limit: (ms) => server.timeout(request, Number.isFinite(ms) ? Math.max(1, Math.ceil(ms / second)) : 0),
  };
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program has it",
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "this user may not listen on this port",
};

/** Says which address cannot be had, and why, where `serve` fails. */
function listened<T>(hostname: string, port: number, serve: () => T): T {
  try {
    return serve();
  } catch (error) {
    const { code } = error as { code?: string };
    const why = reasons[code ?? ""] ?? "it cannot be listened on";
    throw Object.assign(new Error(`${hostname}, port ${port}: ${why}`, { cause: error }), { code });
  }
}

/** Where a listener is reached from this machine. */
export function urlOf(hostname: string, port: number): string {
  const host = hostname === "0.0.0.0" || hostname === "::" ? "127.0.0.1" : hostname;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
