import type { Engine } from "../../delivery/engine.ts";
import type { PublicKeyForms } from "../../delivery/signature.ts";
import type { Application } from "../../domain/applications.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import type { RequestCounter } from "../../domain/requests.ts";
import type { Store } from "../../domain/store.ts";
import type { Scope } from "../../domain/tokens.ts";
import type { Ranking } from "../../platform/ranking.ts";
import type { TrustedProxies } from "../../runtime/client-address.ts";
import type { Log } from "../../runtime/log.ts";
import type { WelcomeSource } from "../../web/session.ts";
import {
  type Access,
  type ApplicationPurpose,
  admit,
  admitChanged,
  admitWithOrWithout,
  headerBearer,
  needsApplication,
  needsScope,
  needsStream,
  needsUser,
  type Requirement,
  tokenOf,
} from "../http/access.ts";
import { type Caller, type RequestContext, Traffic } from "../http/context.ts";
import type { Cursors } from "../http/cursors.ts";
import type { OAuthErrorCode, PublicErrorCode } from "../http/errors.ts";
import { asGate, type GateContext, type InputSchemas, type OpenContext, routeInput } from "../http/input.ts";
import type { LoginChallenges } from "../http/oauth.ts";
import { type OAuthClientKind, type OAuthFormContext, oauthClientGate } from "../http/oauth.ts";
import {
  clientScheme,
  type DescribedRoute,
  describeRoute,
  errorCodes,
  tokenSecurity,
} from "../http/openapi.ts";
import type { PageCookie, PageLook } from "../http/pages.ts";
import { listener } from "../http/server.ts";
import type { OutcomeStreams } from "../stream/outcome-streams.ts";
import type { EventStreams } from "../stream/streams.ts";

/** The dependencies of the public routes. */
export interface PublicDeps {
  readonly store: Store;
  readonly engine: Pick<Engine, "test" | "enable">;
  readonly access: Access;
  readonly catalogue: Catalogue;
  readonly ranking: Ranking;
  readonly cursors: Cursors;
  readonly challenges: LoginChallenges;
  readonly streams: Pick<EventStreams, "open">;
  readonly outcomes: Pick<OutcomeStreams, "open" | "changed">;
  readonly log: Log;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: TrustedProxies | null;
  readonly traffic?: Traffic;
  /** The requests of applications that are not stored yet. */
  readonly requests: Pick<RequestCounter, "of">;
  readonly now: () => number;
  /** The external URL of the listener, without a trailing slash. */
  readonly publicUrl: () => string;
  /** The external URL of the listener if it is a setting; absent or null: it is where the listener listens. */
  readonly setUrl?: string | null;
  /** The name and the brand of the platform; absent: those of On Air. */
  readonly look?: PageLook;
  readonly publicKey: () => PublicKeyForms;
  /** The maximum number of subscriptions of an application without its own limit. */
  readonly defaultSubscriptionLimit: () => number;
  /** Whether webhooks may be sent to http URLs and private addresses. */
  readonly allowPrivateWebhooks: boolean;
  /** The platform's login and consent page; null: users cannot log in. */
  readonly loginUrl: string | null;
  /** The max-age of Strict-Transport-Security, in seconds; 0 or absent: the header is not sent. */
  readonly hstsSeconds?: number;
  /** Whether there is a portal, and whether it offers the platform's login; absent or null: the portal is off. */
  readonly portal?: PageLook | null;
  /** The application through which owners sign in to the portal; absent or null: they cannot. */
  readonly portalLogin?: string | null;
  /** The start page of a development server; absent or null: there is none. */
  readonly welcome?: WelcomeSource | null;
}

const exposed = [
  "X-Request-Id",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "Retry-After",
  "ETag",
  "WWW-Authenticate",
  "Onair-Subscriptions-Used",
  "Onair-Subscriptions-Limit",
  "Onair-Search-Complete",
  "Deprecation",
  "Sunset",
];

/** CORS: browsers of any origin may call the API and read these headers; cookies are not used. */
export const crossOrigin = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": exposed.join(", "),
};

/**
 * The public listener with the access checks that need no token. `anyone: true` applies the rate limit of the
 * application whose valid token the request has, else that of the address; unknown paths and wrong methods are limited
 * the same way. `unlimited: true` has no limit. `oauthClient: "any"` or `"confidential"` reads a form and authenticates
 * the application that sent it; the handler gets it as `oauthClient`. Input is read after the access check, so that
 * 401, 429 and 403 precede 400.
 */
export function publicListener(
  options: Pick<
    PublicDeps,
    "store" | "access" | "log" | "now" | "trustedProxies" | "traffic" | "hstsSeconds"
  >,
) {
  const { access, log, trustedProxies = null, traffic = new Traffic(), hstsSeconds = 0 } = options;
  const hsts = hstsSeconds > 0 && { "strict-transport-security": `max-age=${hstsSeconds}` };
  const admitAny = (requestContext: RequestContext) => admitWithOrWithout(access, requestContext);
  return (
    listener({
      log,
      headers: { ...crossOrigin, ...hsts },
      trustedProxies,
      traffic,
      admit: admitAny,
      isCrossOrigin: true,
    })
      .macro("anyone", (_: true) => {
        const input = routeInput(() => ({ security: [] }));
        return {
          introspect: input.introspect,
          transform: asGate("anyone", async (context: OpenContext) => {
            input.begin(context.requestContext);
            await admitAny(context.requestContext);
            await input.read(context);
          }),
        };
      })
      .macro("oauthClient", (kind: OAuthClientKind) => {
        const gate = oauthClientGate(options, kind);
        return {
          introspect(route: InputSchemas & DescribedRoute) {
            gate.introspect(route);
            describeRoute(route, { security: [{ [clientScheme]: [] }, {}] });
          },
          transform: asGate(
            kind === "any" ? "OAuth client" : "confidential OAuth client",
            async (context: OAuthFormContext) => gate.admit(context),
          ),
          resolve: ({ requestContext }) => ({ oauthClient: requestContext.oauthClient as Application }),
        };
      })
      .macro("unlimited", (_: true) => ({
        transform: asGate("unlimited", async ({ requestContext }: OpenContext) => {
          requestContext.isAdmitted = true;
        }),
      }))
      // Adds errors to the documentation of a route.
      .macro("errors", (codes: readonly (PublicErrorCode | OAuthErrorCode)[]) => ({
        introspect: (route: DescribedRoute) => describeRoute(route, { [errorCodes]: codes }),
      }))
  );
}

export type PublicListener = ReturnType<typeof publicListener>;

/** Who may call a route without a token. `anyone` is limited by address, `unlimited` is not. */
export type OpenAccess = "anyone" | "unlimited" | "OAuth client" | "confidential OAuth client";

/**
 * Who may call a route with a token: one with a scope, one of an application that uses the event stream, one of any
 * user, or one of the application itself.
 */
export type TokenAccess = Scope | "stream" | "user" | `application ${ApplicationPurpose}`;

/**
 * Adds the access checks for routes with a token. `scope: "users:read"` requires a token with that scope. `stream:
 * true` requires `events:subscribe` and an application that uses the event stream. `user: true` requires a token of a
 * user, with any scopes. `application` requires a token of the application itself for a purpose: see
 * `needsApplication`. The handler gets the `caller` and its `token`. The token is read only for routes registered after
 * this call. Requests of the portal have it in `cookie`.
 */
export function withTokens(app: PublicListener, access: Access, cookie: PageCookie | null = null) {
  const tokenIn = ({ bearer, headers: { authorization }, request, requestContext }: GateContext) => {
    if (authorization !== undefined) return tokenOf(bearer, authorization);
    const session = cookie?.read(request) ?? null;
    requestContext.isFromPortal = session !== null;
    return session;
  };
  const { authenticator } = access;
  const guarded = (who: TokenAccess, requirement: Requirement, ...needed: readonly Scope[]) => {
    const input = routeInput(() => ({ security: tokenSecurity(...needed) }));
    return {
      introspect: input.introspect,
      transform: asGate(who, async (context: GateContext) => {
        const { requestContext } = context;
        input.begin(requestContext);
        const token = tokenIn(context);
        requestContext.token = token;
        const { changeCount } = authenticator;
        const admitted = admit(access, requestContext, token);
        requirement(admitted instanceof Promise ? await admitted : admitted);
        const reading = input.read(context);
        if (reading) await reading;
        // The client controls how long a body takes, so a revocation or lock during that time must apply.
        if (token !== null && authenticator.changeCount !== changeCount)
          requirement(await admitChanged(access, requestContext, token));
      }),
      resolve: ({ requestContext: { caller, token } }: OpenContext) => ({
        caller: caller as Caller,
        token: token as string,
      }),
    };
  };
  return app
    .use(headerBearer())
    .macro("scope", (scope: Scope) => guarded(scope, needsScope(scope), scope))
    .macro("stream", (_: true) => guarded("stream", needsStream, "events:subscribe"))
    .macro("user", (_: true) => guarded("user", needsUser))
    .macro("application", (purpose: ApplicationPurpose) =>
      purpose === "reads subscriptions"
        ? guarded(`application ${purpose}`, needsApplication(purpose), "events:subscribe")
        : guarded(`application ${purpose}`, needsApplication(purpose)),
    );
}

export type TokenListener = ReturnType<typeof withTokens>;
