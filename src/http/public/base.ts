import { bearer } from "@elysiajs/bearer";
import type { Application } from "../../domain/applications.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import type { Scope } from "../../domain/tokens.ts";
import type { Log } from "../../log.ts";
import type { TrustedProxies } from "../../proxies.ts";
import type { Store } from "../../store/store.ts";
import { type Access, admit, admitAnyone, tokenOf } from "../auth.ts";
import type { Caller } from "../caller.ts";
import { type GateContext, type InputSchemas, type OpenContext, opaque, routeInput } from "../input.ts";
import { type ClientContext, type ClientKind, clientGate } from "../oauth/client.ts";
import type { OAuthErrorCode } from "../oauth/errors.ts";
import { type DescribedRoute, describeRoute, errorCodes } from "../openapi/declared.ts";
import type { PublicErrorCode } from "../openapi/public-errors.ts";
import { clientScheme, tokenSecurity } from "../openapi/public-reference.ts";
import type { RequestContext } from "../request-context.ts";
import { listener } from "../server.ts";
import { Traffic } from "../traffic.ts";
import type { UserCache } from "./user-cache.ts";

/** What the routes of the public listener are made from. */
export interface PublicDeps {
  readonly store: Store;
  readonly access: Access;
  readonly catalogue: Catalogue;
  readonly users: UserCache;
  readonly log: Log;
  /** Proxies in front, whose `X-Forwarded-For` is believed; none where left out. */
  readonly trustedProxies?: TrustedProxies | null;
  /** Where requests are counted. */
  readonly traffic?: Traffic;
  readonly now: () => number;
  /** Where the listener is reached from outside, without a trailing slash. */
  readonly publicUrl: () => string;
  /** The platform's login and consent page; null: users cannot log in. */
  readonly loginUrl: string | null;
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
];

/** Browsers of any origin may call the API and read these headers; cookies are never involved. */
const crossOrigin = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": exposed.join(", "),
};

export const preflight = {
  "access-control-allow-headers": "Authorization, Content-Type, If-None-Match, Last-Event-ID, X-Request-Id",
  "access-control-max-age": "86400",
};

/**
 * The listener with the gates that take no token. A route says `anyone: true` to be limited by address, as is a route
 * that says nothing and a path that does not exist; only `unlimited: true` is not. One that says `client: "any"` or
 * `"confidential"` is called with a form by an application that authenticates itself: the `client` of its handler. The input that a route declares is
 * read behind its gate, so that 401, 429 and 403 go before 400.
 */
export function publicListener(
  options: Pick<PublicDeps, "store" | "access" | "log" | "now" | "trustedProxies" | "traffic">,
) {
  const { access, log, trustedProxies = null, traffic = new Traffic() } = options;
  const gate = (requestContext: RequestContext) => admitAnyone(access, requestContext);
  return (
    listener({ log, headers: crossOrigin, trustedProxies, traffic, gate })
      .macro("anyone", (_: true) => {
        const input = routeInput();
        return {
          introspect(route: InputSchemas & DescribedRoute) {
            input.introspect(route);
            describeRoute(route, { security: [] });
          },
          transform: opaque(async (context: OpenContext) => {
            admitAnyone(access, context.requestContext);
            await input.read(context);
          }),
        };
      })
      .macro("client", (kind: ClientKind) => {
        const gate = clientGate(options, kind);
        return {
          introspect(route: InputSchemas & DescribedRoute) {
            gate.introspect(route);
            describeRoute(route, { security: [{ [clientScheme]: [] }, {}] });
          },
          transform: opaque(async (context: ClientContext) => gate.admit(context)),
          resolve: ({ requestContext }) => ({ client: requestContext.client as Application }),
        };
      })
      .macro("unlimited", (_: true) => ({
        transform({ requestContext }) {
          requestContext.isAdmitted = true;
        },
      }))
      // Errors of a route beyond those that every route of its kind has.
      .macro("errors", (codes: readonly (PublicErrorCode | OAuthErrorCode)[]) => ({
        introspect: (route: DescribedRoute) => describeRoute(route, { [errorCodes]: codes }),
      }))
  );
}

export type PublicListener = ReturnType<typeof publicListener>;

/** The names of the query and body parameters that the bearer plugin reads tokens from: they cannot be guessed. */
const unguessable = crypto.randomUUID();

/**
 * The same listener for the routes behind a token. A route says `scope: "users:read"` to need a token with that scope,
 * and its handler gets the `caller`. Only routes that are registered from here on have their headers read for a token.
 */
export function withTokens(app: PublicListener, access: Access) {
  return app
    .use(bearer({ extract: { header: "Bearer", query: unguessable, body: unguessable } }))
    .macro("scope", (scope: Scope) => {
      const input = routeInput();
      return {
        introspect(route: InputSchemas & DescribedRoute) {
          input.introspect(route);
          describeRoute(route, { security: tokenSecurity(scope) });
        },
        transform: opaque(async (context: GateContext) => {
          const token = tokenOf(context.bearer, context.headers["authorization"]);
          context.requestContext.caller = await admit(access, context.requestContext, token, scope);
          await input.read(context);
        }),
        resolve: ({ requestContext }) => ({ caller: requestContext.caller as Caller }),
      };
    });
}

export type TokenListener = ReturnType<typeof withTokens>;
