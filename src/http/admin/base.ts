import type { BackupKeeper } from "../../backups/elsewhere.ts";
import type { PlatformData } from "../../batch/platform-data.ts";
import type { Publisher } from "../../batch/publisher.ts";
import type { settingsInForce } from "../../config/shown-settings.ts";
import type { MeasuredKinds, StorageSizes } from "../../data/disk-sizes.ts";
import type { Application } from "../../domain/applications.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import type { Finding } from "../../domain/operations/findings.ts";
import type { Histogram } from "../../domain/operations/histogram.ts";
import type { Role } from "../../domain/operator-keys.ts";
import { secretHash } from "../../domain/tokens.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Log } from "../../log/log.ts";
import type { TrustedProxies } from "../../serving/client-address.ts";
import type { Store } from "../../store/store.ts";
import type { SpanCounts } from "../../tracing/span-counts.ts";
import { headerBearer, tokenOf } from "../auth.ts";
import type { Cursors } from "../cursors.ts";
import { asGate, type GateContext, opaque, operationOf, routeInput } from "../input.ts";
import type { LoginChallenges } from "../login-challenges.ts";
import type { AdminErrorCode } from "../openapi/admin-errors.ts";
import { operatorScheme } from "../openapi/admin-reference.ts";
import { type DescribedRoute, describeRoute, errorCodes } from "../openapi/declared.ts";
import type { RateLimitState } from "../rate-limit.ts";
import { listener } from "../server.ts";
import type { OutcomeStreams } from "../stream/outcome-streams.ts";
import type { Traffic } from "../traffic.ts";
import { type GateOptions, operatorGate } from "./access.ts";
import { knownHosts, requireKnownHost } from "./hosts.ts";
import type { AuditTrail } from "./operations/audit-trail.ts";
import type { OperatorKeys } from "./operator-keys.ts";

/** The size limit of JSON bodies in the admin API. */
export const adminBodyBytes = 256 * 1024;

/** Facts that only `/metrics` uses. */
interface WatchedFacts {
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
  readonly watched: WatchedFacts | null;
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
  readonly limiter: GateOptions["limiter"];
  /** Further host names that the listener accepts, besides `localhost` and IP addresses. */
  readonly hosts?: readonly string[];
  readonly allowPrivateWebhooks: boolean;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: TrustedProxies | null;
  /** The reason why the server is not ready; null when it is ready. */
  readonly whyNotReady: () => Promise<string | null>;
  /** The requests of each listener. */
  readonly traffic: Readonly<Record<"public" | "admin", Traffic>>;
  /** The external URL of the public listener, without a trailing slash. */
  readonly publicUrl: () => string;
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
          transform: asGate(async (context: GateContext) => {
            input.begin(context.requestContext);
            const secret = tokenOf(context.bearer, context.headers["authorization"]);
            const hash = secret === null ? null : secretHash(secret);
            const { requestContext } = context;
            const requireAllowed = async () => {
              if (options.operatorKeys.isOutdated) await options.operatorKeys.refresh();
              await admit(requestContext, hash, allowed);
            };
            await requireAllowed();
            requestContext.longBody = {
              requireAllowed,
              async noteBrokenOff() {
                const nothing = { params: null, body: null, value: null };
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
            async ({ requestContext, params, body, responseValue: value }: AnsweredContext) => {
              const { operatorKey } = requestContext;
              const answered = { requestContext, params, body, value };
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
          transform: asGate(async (context: GateContext) => {
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
