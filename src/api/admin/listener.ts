import type { Engine } from "../../delivery/engine.ts";
import type { Application } from "../../domain/applications.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import type { Finding } from "../../domain/findings.ts";
import type { OperatorKey, Role } from "../../domain/operator-keys.ts";
import type { Histogram } from "../../domain/statistics.ts";
import type { Store } from "../../domain/store.ts";
import { mistakenSecret, secretHash } from "../../domain/tokens.ts";
import type { BackupKeeper } from "../../operations/backups/backups.ts";
import type { MeasuredKinds, StorageSizes } from "../../operations/storage-health.ts";
import type { PlatformData } from "../../platform/platform-data.ts";
import type { Publisher } from "../../platform/publisher.ts";
import type { TrustedProxies } from "../../runtime/client-address.ts";
import { streamOf } from "../../runtime/files.ts";
import type { Log } from "../../runtime/log.ts";
import type { SpanCounts } from "../../runtime/tracing.ts";
import type { settingsInForce } from "../../server/settings/shown-settings.ts";
import { headerBearer, type RateLimiter, requireWithinLimit, tokenOf } from "../http/access.ts";
import { clientNetworkOf, type RateLimitState, type RequestContext, type Traffic } from "../http/context.ts";
import type { Cursors } from "../http/cursors.ts";
import type { AdminErrorCode } from "../http/errors.ts";
import { asGate, type GateContext, opaque, operationOf, routeInput } from "../http/input.ts";
import type { LoginChallenges } from "../http/oauth.ts";
import { type DescribedRoute, describeRoute, errorCodes, operatorScheme } from "../http/openapi.ts";
import { knownHosts } from "../http/pages.ts";
import { listener } from "../http/server.ts";
import type { OutcomeStreams } from "../stream/outcome-streams.ts";
import type { AuditTrail } from "./audit-trail.ts";
import type { OperatorKeys, OperatorSessions } from "./operator-keys.ts";

/** Paths that answer to every host name. They reveal only the health of the process. */
const openToEveryHost: readonly string[] = ["/healthz", "/readyz"];

/** Throws `unknown_host` for a host that is not known. */
function requireKnownHost(
  isKnown: (host: string | null) => boolean,
  path: string,
  host: string | null,
): void {
  if (isKnown(host) || openToEveryHost.includes(path)) return;
  throw new DomainError(
    "unknown_host",
    "This listener is not known by the name in the Host header. Add that name to --admin-hosts (ONAIR_ADMIN_HOSTS), or use an address",
  );
}

/*
 * Access to the routes of the admin API, declared by each route as `roles`. Only operators may read the content of a
 * backup, because it contains every secret.
 */
export const everyRole: readonly Role[] = ["operator", "publisher", "reader"];
export const writers: readonly Role[] = ["operator", "publisher"];
export const readers: readonly Role[] = ["operator", "reader"];
export const operators: readonly Role[] = ["operator"];

/** Wrong keys per minute from one address (IPv6: a /64) before it is rate limited. */
const wrongKeysPerMinute = 20;

/** What the gate needs, and the sessions of the console; absent or null if there is no console. */
type GateOptions = Pick<AdminDeps, "operatorKeys" | "log" | "wrongKeyLimit" | "limiter"> & {
  readonly sessions?: Pick<OperatorSessions, "keyOf"> | null;
};

/** The operator key of a request, by the SHA-256 of its secret. */
interface PresentedKey {
  readonly hash: Uint8Array;
  /** What the secret is for, if it is of another kind; null if it may be a key. */
  readonly mistaken: string | null;
}

function presentedKey(secret: string): PresentedKey {
  const needed = "this needs an operator key, which begins with onair_admin_";
  return { hash: secretHash(secret), mistaken: mistakenSecret(secret, "onair_admin_", needed) };
}

/**
 * Checks the key of an admin request; null if the request has none. Throws in the order 401, 429, 403. A valid key is
 * accepted even if its address is rate limited.
 */
function operatorGate({
  operatorKeys,
  log,
  sessions = null,
  wrongKeyLimit = wrongKeysPerMinute,
  limiter,
}: GateOptions): (
  requestContext: RequestContext,
  secret: PresentedKey | null,
  allowed: readonly Role[],
) => Promise<void> {
  /**
   * Finds a key that is not in memory. Another replica may just have created it, so the store is read, within the limit
   * of wrong keys of the address.
   */
  const findKey = async (
    requestContext: RequestContext,
    { hash, mistaken }: PresentedKey,
  ): Promise<OperatorKey> => {
    const bucket = `wrong operator keys from ${clientNetworkOf(requestContext)}`;
    const budget = limiter.take(bucket, wrongKeyLimit);
    requireWithinLimit(budget, "wrong operator keys from this address");
    await operatorKeys.refresh();
    const key = operatorKeys.find(hash);
    if (key) {
      limiter.giveBack(bucket, wrongKeyLimit);
      return key;
    }
    // Logged only within the limit, so that guessing keys does not fill the log.
    log.warn("wrong_operator_key", {
      request_id: requestContext.requestId,
      address: requestContext.clientAddress,
      ...(budget?.remaining === 0 && { further: "are refused unlogged for now" }),
    });
    throw new DomainError("invalid_token", mistaken ?? "The operator key is wrong, revoked or expired");
  };

  return async (requestContext, secret, allowed) => {
    const key =
      secret === null
        ? await sessions?.keyOf(requestContext.request)
        : (operatorKeys.find(secret.hash) ?? (await findKey(requestContext, secret)));
    if (!key) {
      throw new DomainError("missing_token", "This needs the operator key: Authorization: Bearer <key>");
    }
    operatorKeys.used(key);
    requestContext.operatorKey = key;
    if (!allowed.includes(key.role)) {
      const message = `This needs a key with the role ${allowed.join(" or ")}; this one is a ${key.role}`;
      throw new DomainError("insufficient_role", message);
    }
  };
}

/** Returns a response body that ends when its caller loses access: the client controls how long it takes. */
export function whileAllowed(
  { longBody }: Pick<RequestContext, "longBody">,
  chunks: AsyncIterable<Uint8Array>,
): ReadableStream<Uint8Array> {
  const allowed = async function* () {
    for await (const chunk of chunks) {
      await longBody?.requireAllowed();
      yield chunk;
    }
  };
  return streamOf(allowed());
}

/** The size limit of JSON bodies in the admin API. */
export const adminBodyBytes = 256 * 1024;

/** Facts of a running server that only `/metrics` shows. */
interface MetricFacts {
  readonly database: "sqlite" | "postgresql";
  /** The size of the write-ahead log in the data directory; null where the database is on another server. */
  logBytes(): number | null;
  openStreams(): number;
  /** The expiry time of each listener's certificate, in milliseconds since the epoch. */
  certificates(): readonly { readonly listener: string; readonly expiresAt: number }[];
  /** The event loop delay of the main thread, in seconds. */
  readonly eventLoopDelay: Histogram;
  spans(): SpanCounts;
}

/** Facts about the server that the admin API returns. */
interface ServerFacts {
  readonly settings: ReturnType<typeof settingsInForce>;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The maximum number of subscriptions of an application without its own limit. */
  readonly subscriptionLimit: number;
  /** Returns the rate limit of an application and what remains of it; null if it is unlimited. */
  rateLimit(application: Application): Pick<RateLimitState, "limit" | "remaining"> | null;
  /** The sizes of the data directory; null where the database is on another server. */
  storage(): StorageSizes | null;
  /** Bytes used by each kind of data, measured within the last hour; null if unknown. */
  kindSizes(): Promise<MeasuredKinds | null>;
  /** null in a command, which has no listeners. */
  readonly metrics: MetricFacts | null;
}

/** The dependencies of the admin routes. */
export interface AdminDeps {
  readonly store: Store;
  readonly engine: Engine;
  readonly data: PlatformData;
  readonly publisher: Publisher;
  readonly backups: BackupKeeper;
  readonly catalogue: Catalogue;
  readonly cursors: Cursors;
  readonly challenges: LoginChallenges;
  readonly log: Log;
  readonly now: () => number;
  readonly operatorKeys: OperatorKeys;
  readonly facts: ServerFacts;
  /** The findings of `onair doctor` about the running server. */
  readonly findings: () => Promise<readonly Finding[]>;
  readonly outcomes: Pick<OutcomeStreams, "open">;
  /** Records changes. */
  readonly trail: AuditTrail;
  /** Wrong keys per minute and address, in place of the default; 0 means no limit. */
  readonly wrongKeyLimit?: number | undefined;
  /** Counts wrong keys. */
  readonly limiter: Pick<RateLimiter, "take" | "giveBack">;
  /** Further host names that the listener accepts, besides `localhost` and IP addresses. */
  readonly hosts?: readonly string[];
  readonly allowPrivateWebhooks: boolean;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: TrustedProxies | null;
  /** The reason why the server is not ready; null when it is ready. */
  readonly whyNotReady: () => Promise<string | null>;
  /** Whether the server was told to stop, and still serves. */
  readonly isStopping: () => boolean;
  /** The requests of each listener. */
  readonly traffic: Readonly<Record<"public" | "admin", Traffic>>;
  /** The external URL of the public listener, without a trailing slash. */
  readonly publicUrl: () => string;
  /** The URL of the start page of `onair dev`; absent elsewhere. */
  readonly welcomeUrl?: (() => string) | undefined;
  /** The URL of this listener, without a trailing slash. */
  readonly adminUrl: () => string;
}

/** The part of Elysia's context that is used after a handler. */
interface AnsweredContext extends GateContext {
  readonly responseValue: unknown;
}

/** The admin listener. Each route names the accepted roles with `roles: […]`, or needs no key with `keyless: true`. */
export function adminListener({
  trustedProxies = null,
  hosts = [],
  trail,
  traffic,
  ...options
}: GateOptions & Pick<AdminDeps, "trustedProxies" | "hosts" | "trail" | "traffic">) {
  const admit = operatorGate(options);
  const isKnownHost = knownHosts(hosts);
  return (
    listener({ log: options.log, headers: {}, trustedProxies, traffic: traffic.admin })
      .onRequest(
        opaque(({ requestContext, request }: Pick<GateContext, "requestContext" | "request">) =>
          requireKnownHost(isKnownHost, requestContext.path, request.headers.get("host")),
        ),
      )
      .use(headerBearer())
      .macro("roles", (allowed: readonly Role[]) => {
        let operationId = "";
        const input = routeInput((route) => {
          operationId = operationOf(route) ?? "";
          return allowedTo(allowed, route);
        }, adminBodyBytes);
        return {
          introspect: input.introspect,
          // At the transform stage: later stages run after validation, and 401 and 403 must come before 400.
          transform: asGate(allowed.join(), async (context: GateContext) => {
            input.begin(context.requestContext);
            const secret = tokenOf(context.bearer, context.headers["authorization"]);
            const presented = secret === null ? null : presentedKey(secret);
            const { requestContext } = context;
            const requireAllowed = async () => {
              if (options.operatorKeys.isOutdated) await options.operatorKeys.refresh();
              await admit(requestContext, presented, allowed);
            };
            await requireAllowed();
            requestContext.longBody = {
              requireAllowed,
              async noteBrokenOff() {
                const nothing = { params: null, query: null, body: null, value: null };
                const { operatorKey } = requestContext;
                if (operatorKey)
                  await trail.note({ operationId, allowed }, operatorKey, { requestContext, ...nothing });
              },
            };
            const reading = input.read(context);
            if (!reading) return;
            await reading;
            // The client controls how long a body takes, so a key revoked during that time must be refused.
            await requireAllowed();
          }),
          // Before the response, so that every acknowledged change is recorded.
          afterHandle: opaque(
            async ({ requestContext, params, query, body, responseValue: value }: AnsweredContext) => {
              const { operatorKey } = requestContext;
              const answered = { requestContext, params, query, body, value };
              if (operatorKey) await trail.note({ operationId, allowed }, operatorKey, answered);
            },
          ),
        };
      })
      // For routes without a key, such as health checks.
      .macro("keyless", (_: true) => {
        const input = routeInput(() => ({ security: [] }), adminBodyBytes);
        return {
          introspect: input.introspect,
          transform: asGate("keyless", async (context: GateContext) => {
            input.begin(context.requestContext);
            await input.read(context);
          }),
        };
      })
      // Adds errors to the documentation of a route.
      .macro("errors", (codes: readonly AdminErrorCode[]) => ({
        introspect: (route: DescribedRoute) => describeRoute(route, { [errorCodes]: codes }),
      }))
  );
}

/** Returns the documentation of the roles that may call a route. */
function allowedTo(allowed: readonly Role[], { detail }: DescribedRoute) {
  const names = allowed.map((role) => `\`${role}\``);
  const last = names.pop() ?? "";
  const sentence = `Requires a key with the role ${names.length > 0 ? `${names.join(", ")} or ${last}` : last}.`;
  return {
    security: [{ [operatorScheme]: [] }],
    "x-roles": allowed,
    description: `${detail?.["description"]}\n\n${sentence}`,
  };
}

export type AdminListener = ReturnType<typeof adminListener>;
