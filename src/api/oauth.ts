import type { RouteRow } from "./http/server.ts";
import { authorizeRoute } from "./oauth/authorize.ts";
import { metadataRoute } from "./oauth/metadata.ts";
import { introspectRoute, revokeRoute, tokenRoute } from "./oauth/tokens.ts";
import type { OpenAccess, PublicDeps, PublicListener } from "./public/listener.ts";

/** The routes of OAuth on the public listener: path, who may call each method, and what registers it. */
export const oauthRoutes: readonly RouteRow<PublicListener, PublicDeps, OpenAccess>[] = [
  ["/oauth/token", { POST: "OAuth client" }, tokenRoute],
  ["/oauth/revoke", { POST: "OAuth client" }, revokeRoute],
  ["/oauth/introspect", { POST: "confidential OAuth client" }, introspectRoute],
  ["/oauth/authorize", { GET: "anyone" }, authorizeRoute],
  ["/.well-known/oauth-authorization-server", { GET: "anyone" }, metadataRoute],
];
