import { pageCookie } from "./http/browsers.ts";
import { tokenScheme } from "./http/documentation.ts";
import { answerOtherMethods } from "./http/server.ts";
import { authorizeRoute } from "./oauth/authorize.ts";
import { metadataRoute } from "./oauth/metadata.ts";
import { introspectRoute, revokeRoute, tokenRoute } from "./oauth/tokens.ts";
import { openApiRoutes } from "./openapi/scalar.ts";
import { applicationRoutes } from "./public/application.ts";
import { assetRoutes } from "./public/assets.ts";
import { categoryRoutes } from "./public/categories.ts";
import { deliveryRoutes } from "./public/deliveries.ts";
import { noticeRoutes } from "./public/endpoint.ts";
import { eventRoutes } from "./public/events.ts";
import { type PublicDeps, publicListener, withTokens } from "./public/listener.ts";
import { docsRoutes, welcomeRoutes } from "./public/pages.ts";
import { ownerLoginRoutes, portalRoutes, portalSessionRoutes } from "./public/portal.ts";
import { replayRoutes } from "./public/replays.ts";
import { outcomeRoute, statisticRoutes } from "./public/statistics.ts";
import { streamRoute } from "./public/stream.ts";
import {
  namedSubscriptionRoutes,
  subscriptionHealthRoute,
  subscriptionRoutes,
} from "./public/subscriptions.ts";
import { testRoutes } from "./public/test.ts";
import { userRoutes } from "./public/users.ts";

/**
 * All routes of the public listener, grouped by access. Routes without a token come first: the hooks of `withTokens`
 * apply to the routes registered after it.
 */
export function publicApp(deps: PublicDeps) {
  const open = publicListener(deps);
  // No authentication, no rate limit: the pictures under /assets
  assetRoutes(open);
  // No authentication, rate limit by address: /public/v1/categories, …/categories/{id}
  categoryRoutes(open, deps);
  // /public/v1/events/types, /public/v1/public-key, …/public-key/standard-webhooks
  eventRoutes(open, deps);
  // Authenticated applications: /oauth/token, /oauth/revoke, /oauth/introspect
  tokenRoute(open, deps);
  revokeRoute(open, deps);
  introspectRoute(open, deps);
  // /oauth/authorize, /.well-known/oauth-authorization-server
  authorizeRoute(open, deps);
  metadataRoute(open, deps);
  // /portal and paths under it
  const { portal, portalLogin } = deps;
  const cookie = portal ? pageCookie("onair_portal") : null;
  if (portal && cookie) portalRoutes(open, deps, portal, cookie);
  if (portalLogin && cookie) ownerLoginRoutes(open, deps, portalLogin, cookie);
  // The root, and /welcome/facts, /welcome/events
  if (deps.welcome) welcomeRoutes(open, deps, deps.welcome);
  // /docs and paths under it
  docsRoutes(open);
  // /openapi.json, /docs/api
  openApiRoutes(open, {
    path: "/docs/api",
    title: "On Air API",
    scheme: tokenScheme,
    url: deps.publicUrl,
    complete: async (...of) => (await import("./openapi/public.ts")).publicDocument(...of),
  });

  const app = withTokens(open, deps.access, cookie);
  // Tokens with users:read: /public/v1/users/search, …/users/{username}
  userRoutes(app, deps);
  // Tokens with events:subscribe: GET, POST, DELETE /public/v1/events/subscriptions
  subscriptionRoutes(app, deps);
  // /public/v1/events/subscriptions/{id}
  subscriptionHealthRoute(app, deps);
  // /public/v1/events/stream
  streamRoute(app, deps);
  // /public/v1/events/deliveries, …/deliveries/{id}, POST …/deliveries/{id}/retry
  deliveryRoutes(app, deps);
  // GET, POST /public/v1/events/replays, GET, DELETE …/replays/{id}
  replayRoutes(app, deps);
  // POST /public/v1/events/test, …/test/stream
  testRoutes(app, deps);
  // /public/v1/application/subscriptions
  namedSubscriptionRoutes(app, deps);
  // Tokens of the application itself: GET, PATCH /public/v1/application
  // POST /public/v1/application/webhook-secret, …/application/endpoint/enable
  // GET /public/v1/application/notices, …/application/statistics, …/application/outcomes
  applicationRoutes(app, deps);
  noticeRoutes(app, deps);
  statisticRoutes(app, deps);
  outcomeRoute(app, deps);
  // GET, DELETE /portal/session
  if (cookie) portalSessionRoutes(app, deps, cookie);

  answerOtherMethods(app);
  return app;
}
