import type { RouteRow } from "./http/server.ts";
import { authorizeRoute } from "./oauth/authorize.ts";
import { metadataRoute } from "./oauth/metadata.ts";
import { introspectRoute, revokeRoute, tokenRoute, userInfoRoute } from "./oauth/tokens.ts";
import type {
  OpenAccess,
  PublicDeps,
  PublicListener,
  TokenAccess,
  TokenListener,
} from "./public/listener.ts";

/** The routes of OAuth without a token: path, who may call each method, and what registers it. */
export const oauthRoutes: readonly RouteRow<PublicListener, PublicDeps, OpenAccess>[] = [
  ["/oauth/token", { POST: "OAuth client" }, tokenRoute],
  ["/oauth/revoke", { POST: "OAuth client" }, revokeRoute],
  ["/oauth/introspect", { POST: "OAuth client" }, introspectRoute],
  ["/oauth/authorize", { GET: "anyone" }, authorizeRoute],
  ["/.well-known/oauth-authorization-server", { GET: "anyone" }, metadataRoute],
  ["/.well-known/openid-configuration", { GET: "anyone" }, metadataRoute],
];

/** The routes of OAuth with a token: path, who may call each method, and what registers it. */
export const oauthTokenRoutes: readonly RouteRow<TokenListener, PublicDeps, TokenAccess>[] = [
  ["/oauth/userinfo", { GET: "user" }, userInfoRoute],
];
