import { ownLook } from "./http/pages.ts";
import { answerOtherMethods, type RouteRow, registerRoutes } from "./http/server.ts";
import { oauthRoutes, oauthTokenRoutes } from "./oauth.ts";
import { documentationRoutes } from "./openapi/routes.ts";
import { applicationRoutes } from "./public/application.ts";
import { assetRoutes, fontRoute } from "./public/assets.ts";
import { categoryRoutes } from "./public/categories.ts";
import { deliveryRoutes } from "./public/deliveries.ts";
import { noticeRoutes } from "./public/endpoint.ts";
import { eventRoutes } from "./public/events.ts";
import { filterRoutes } from "./public/filters.ts";
import {
  type OpenAccess,
  type PublicDeps,
  type PublicListener,
  publicListener,
  type TokenAccess,
  type TokenListener,
  withTokens,
} from "./public/listener.ts";
import {
  ownerLoginRoutes,
  portalCookie,
  portalRoutes,
  portalSessionRoutes,
  portalUserRoutes,
} from "./public/portal.ts";
import { replayRoutes } from "./public/replays.ts";
import { outcomeRoute, requestRoute, statisticRoutes } from "./public/statistics.ts";
import { streamRoute } from "./public/stream.ts";
import {
  namedSubscriptionRoutes,
  subscriptionHealthRoute,
  subscriptionRoutes,
} from "./public/subscriptions.ts";
import { testRoutes } from "./public/test.ts";
import { userRoutes } from "./public/users.ts";
import { welcomeRoutes } from "./public/welcome.ts";

/** The routes without a token: path, who may call each method, and what registers it. */
export const openRoutes: readonly RouteRow<PublicListener, PublicDeps, OpenAccess>[] = [
  ["/assets/*", { GET: "unlimited" }, assetRoutes],
  ["/public/v1/categories", { GET: "anyone" }, categoryRoutes],
  ["/public/v1/categories/:id", { GET: "anyone" }, categoryRoutes],
  ["/public/v1/events/types", { GET: "anyone" }, eventRoutes],
  ["/public/v1/public-key", { GET: "anyone" }, eventRoutes],
  ["/public/v1/public-key/standard-webhooks", { GET: "anyone" }, eventRoutes],
  ...oauthRoutes,
  // With a portal.
  ["/portal/*", { GET: "anyone" }, portalRoutes],
  ["/portal/files/:file", { GET: "unlimited" }, portalRoutes],
  ["/portal/session", { POST: "confidential OAuth client" }, portalRoutes],
  // With a portal to which owners sign in.
  ["/portal/login", { POST: "anyone" }, ownerLoginRoutes],
  ["/portal/login/answer", { POST: "anyone" }, ownerLoginRoutes],
  ["/portal/login/session", { POST: "anyone" }, ownerLoginRoutes],
  ["/", { GET: "anyone" }, welcomeRoutes],
  // In development.
  ["/welcome/*", { GET: "anyone" }, welcomeRoutes],
  ["/welcome/files/:file", { GET: "unlimited" }, welcomeRoutes],
  ["/welcome/facts", { GET: "unlimited" }, welcomeRoutes],
  ["/welcome/sign-in", { POST: "anyone" }, welcomeRoutes],
  ["/welcome/events", { GET: "unlimited" }, welcomeRoutes],
  ["/inter.woff2", { GET: "unlimited" }, fontRoute],
  ["/docs/*", { GET: "anyone" }, docsRoutes],
  ["/docs/files/:file", { GET: "unlimited" }, docsRoutes],
  ["/openapi.json", { GET: "anyone" }, docsRoutes],
  ["/openapi-3.0.json", { GET: "anyone" }, docsRoutes],
];

/** The routes with a token: path, who may call each method, and what registers it. */
export const tokenRoutes: readonly RouteRow<TokenListener, PublicDeps, TokenAccess>[] = [
  ["/public/v1/users", { GET: "users:read" }, userRoutes],
  ["/public/v1/users/search", { GET: "users:read" }, userRoutes],
  ["/public/v1/users/:username", { GET: "users:read" }, userRoutes],
  [
    "/public/v1/events/subscriptions",
    { GET: "events:subscribe", POST: "events:subscribe", DELETE: "events:subscribe" },
    subscriptionRoutes,
  ],
  ["/public/v1/events/subscriptions/:id", { GET: "events:subscribe" }, subscriptionHealthRoute],
  ["/public/v1/events/stream", { GET: "stream" }, streamRoute],
  ["/public/v1/events/deliveries", { GET: "events:subscribe" }, deliveryRoutes],
  ["/public/v1/events/deliveries/:id", { GET: "events:subscribe" }, deliveryRoutes],
  ["/public/v1/events/deliveries/:id/retry", { POST: "events:subscribe" }, deliveryRoutes],
  ["/public/v1/events/replays", { GET: "events:subscribe", POST: "events:subscribe" }, replayRoutes],
  ["/public/v1/events/replays/:id", { GET: "events:subscribe", DELETE: "events:subscribe" }, replayRoutes],
  ["/public/v1/events/test", { POST: "events:subscribe" }, testRoutes],
  ["/public/v1/events/test/stream", { POST: "events:subscribe" }, testRoutes],
  [
    "/public/v1/application/subscriptions",
    { GET: "application reads subscriptions" },
    namedSubscriptionRoutes,
  ],
  ["/public/v1/application", { GET: "application reads", PATCH: "application changes" }, applicationRoutes],
  ["/public/v1/application/filters/test", { POST: "application reads subscriptions" }, filterRoutes],
  ["/public/v1/application/webhook-secret", { POST: "application changes" }, applicationRoutes],
  ["/public/v1/application/endpoint/enable", { POST: "application changes" }, applicationRoutes],
  ["/public/v1/application/notices", { GET: "application reads" }, noticeRoutes],
  ["/public/v1/application/statistics", { GET: "application reads" }, statisticRoutes],
  ["/public/v1/application/requests", { GET: "application reads" }, requestRoute],
  ["/public/v1/application/outcomes", { GET: "application reads" }, outcomeRoute],
  ...oauthTokenRoutes,
  // With a portal.
  ["/portal/users", { GET: "users:read" }, portalUserRoutes],
  ["/portal/session", { GET: "application reads", DELETE: "application reads" }, portalSessionRoutes],
];

/**
 * Returns the app of the public listener. Routes without a token come first: `withTokens` applies to those after it.
 */
export function publicApp(deps: PublicDeps) {
  const open = publicListener(deps);
  registerRoutes(open, deps, openRoutes);
  const app = withTokens(open, deps.access, deps.portal ? portalCookie : null);
  registerRoutes(app, deps, tokenRoutes);
  answerOtherMethods(app);
  return app;
}

function docsRoutes(app: PublicListener, deps: PublicDeps): void {
  const { publicUrl, look = ownLook, setUrl = null } = deps;
  documentationRoutes(app, {
    title: "On Air API",
    reader: "developer",
    look,
    setUrl,
    url: publicUrl,
    publicUrl,
    complete: async (...of) => (await import("./openapi/public.ts")).publicDocument(...of),
  });
}
