import type { Role } from "../domain/operator-keys.ts";
import { applicationRoutes, filterRoutes, secretRoutes, usageRoutes } from "./admin/applications.ts";
import { auditRoutes } from "./admin/audit.ts";
import { backupRoutes } from "./admin/backups.ts";
import { consoleRoutes } from "./admin/console.ts";
import { deliveryRoutes, replayRoutes } from "./admin/deliveries.ts";
import { backlogRoute, endpointRoutes, noticeRoutes, subscriptionRoutes } from "./admin/endpoints.ts";
import { catalogueRoute, eventTypeRoutes } from "./admin/event-types.ts";
import { eventRoutes, previewRoute } from "./admin/events.ts";
import { keyRoutes } from "./admin/keys.ts";
import {
  type AdminDeps,
  type AdminListener,
  adminListener,
  everyRole,
  operators,
  readers,
  writers,
} from "./admin/listener.ts";
import { channelListRoute, livestreamListRoute, rankingRoutes } from "./admin/livestreams.ts";
import { loginRequestRoutes } from "./admin/login-requests.ts";
import { metricRoutes } from "./admin/metrics.ts";
import { type OperatorSessions, operatorSessions } from "./admin/operator-keys.ts";
import { categoryRoutes, channelRoutes, livestreamRoutes, userRoutes } from "./admin/records.ts";
import { findingRoute, healthRoutes, holdRoutes, settingRoutes, storageRoute } from "./admin/server.ts";
import { outcomeRoute, statisticRoutes } from "./admin/statistics.ts";
import { consentRoutes, tokenRoutes } from "./admin/tokens.ts";
import { userLookupRoutes } from "./admin/users.ts";
import { ownLook } from "./http/pages.ts";
import { answerOtherMethods, type RouteRow, registerRoutes } from "./http/server.ts";
import { documentationRoutes } from "./openapi/routes.ts";

type Deps = AdminDeps & { readonly sessions: OperatorSessions };
type Row = RouteRow<AdminListener, Deps, readonly Role[] | "keyless" | "anyone" | "unlimited">;

/** All routes of the admin listener: path, the roles that may call each method, and what registers it. */
export const adminRoutes: readonly Row[] = [
  ["/healthz", { GET: "keyless" }, healthRoutes],
  ["/readyz", { GET: "keyless" }, healthRoutes],
  ["/metrics", { GET: "keyless" }, metricRoutes],
  ["/admin/v1/applications", { GET: readers, POST: operators }, applicationRoutes],
  ["/admin/v1/applications/:id", { GET: readers, PATCH: operators, DELETE: operators }, applicationRoutes],
  ["/admin/v1/applications/:id/filters/test", { POST: operators }, filterRoutes],
  ["/admin/v1/applications/:id/client-secret", { POST: operators }, secretRoutes],
  ["/admin/v1/applications/:id/webhook-secret", { POST: operators }, secretRoutes],
  ["/admin/v1/applications/:id/usage", { GET: readers }, usageRoutes],
  ["/admin/v1/applications/:id/tokens", { GET: readers, POST: operators, DELETE: operators }, tokenRoutes],
  ["/admin/v1/applications/:id/tokens/:token_id", { DELETE: operators }, tokenRoutes],
  ["/admin/v1/login-requests/:challenge", { GET: readers }, loginRequestRoutes],
  ["/admin/v1/login-requests/:challenge/accept", { PUT: operators }, loginRequestRoutes],
  ["/admin/v1/login-requests/:challenge/reject", { PUT: operators }, loginRequestRoutes],
  ["/admin/v1/users/:id/consents", { GET: readers }, consentRoutes],
  ["/admin/v1/users/:id/consents/:application_id", { DELETE: operators }, consentRoutes],
  ["/admin/v1/users/:id", { GET: everyRole, PUT: writers, DELETE: writers }, userRoutes],
  ["/admin/v1/users/batch", { GET: everyRole, POST: writers }, userRoutes],
  ["/admin/v1/categories/:id", { GET: everyRole, PUT: writers, DELETE: writers }, categoryRoutes],
  ["/admin/v1/categories/batch", { GET: everyRole, POST: writers }, categoryRoutes],
  ["/admin/v1/channels/:id", { GET: everyRole, PUT: writers, DELETE: writers }, channelRoutes],
  ["/admin/v1/channels/batch", { GET: everyRole, POST: writers }, channelRoutes],
  ["/admin/v1/livestreams", { GET: everyRole, PUT: writers }, livestreamRoutes],
  ["/admin/v1/livestreams/:channel_id", { DELETE: writers }, livestreamRoutes],
  ["/admin/v1/users", { GET: everyRole }, userLookupRoutes],
  ["/admin/v1/users/search", { GET: everyRole }, userLookupRoutes],
  ["/admin/v1/channels/search", { GET: everyRole }, channelListRoute],
  ["/admin/v1/livestreams/search", { GET: everyRole }, livestreamListRoute],
  ["/admin/v1/ranking", { GET: everyRole }, rankingRoutes],
  ["/admin/v1/ranking/:id", { GET: everyRole }, rankingRoutes],
  ["/admin/v1/events", { POST: writers }, eventRoutes],
  ["/admin/v1/events/preview", { POST: writers }, previewRoute],
  ["/admin/v1/event-types", { GET: everyRole }, eventTypeRoutes],
  ["/admin/v1/event-types/:name", { PUT: operators, DELETE: operators }, eventTypeRoutes],
  ["/admin/v1/catalogue", { GET: everyRole }, catalogueRoute],
  ["/admin/v1/deliveries/hold", { GET: readers, DELETE: operators }, holdRoutes],
  ["/admin/v1/deliveries", { GET: readers }, deliveryRoutes],
  ["/admin/v1/deliveries/:id", { GET: readers }, deliveryRoutes],
  ["/admin/v1/deliveries/:id/retry", { POST: operators }, deliveryRoutes],
  ["/admin/v1/backlog", { GET: readers }, backlogRoute],
  ["/admin/v1/replays", { GET: readers, POST: operators }, replayRoutes],
  ["/admin/v1/replays/:id", { GET: readers, DELETE: operators }, replayRoutes],
  ["/admin/v1/subscriptions", { GET: readers }, subscriptionRoutes],
  ["/admin/v1/endpoints", { GET: readers }, endpointRoutes],
  ["/admin/v1/applications/:id/endpoint", { GET: readers }, endpointRoutes],
  ["/admin/v1/applications/:id/endpoint/enable", { POST: operators }, endpointRoutes],
  ["/admin/v1/backups", { GET: readers, POST: operators }, backupRoutes],
  ["/admin/v1/backups/:id", { GET: readers, DELETE: operators }, backupRoutes],
  ["/admin/v1/backups/:id/content", { GET: operators }, backupRoutes],
  ["/admin/v1/keys", { GET: readers, POST: operators }, keyRoutes],
  ["/admin/v1/keys/:id", { DELETE: operators }, keyRoutes],
  ["/admin/v1/notices", { GET: readers }, noticeRoutes],
  ["/admin/v1/audit", { GET: readers }, auditRoutes],
  ["/admin/v1/settings", { GET: readers }, settingRoutes],
  ["/admin/v1/storage", { GET: readers }, storageRoute],
  ["/admin/v1/findings", { GET: readers }, findingRoute],
  ["/admin/v1/statistics", { GET: readers }, statisticRoutes],
  ["/admin/v1/outcomes", { GET: readers }, outcomeRoute],
  ["/", { GET: "keyless" }, consoleRoutes],
  ["/console/*", { GET: "anyone" }, consoleRoutes],
  ["/console/files/:file", { GET: "unlimited" }, consoleRoutes],
  ["/console/session", { GET: everyRole, POST: everyRole, DELETE: everyRole }, consoleRoutes],
  ["/docs/*", { GET: "anyone" }, docsRoutes],
  ["/docs/files/:file", { GET: "unlimited" }, docsRoutes],
  ["/openapi.json", { GET: "anyone" }, docsRoutes],
  ["/openapi-3.0.json", { GET: "anyone" }, docsRoutes],
];

/** Returns the app of the admin listener. */
export function adminApp(deps: AdminDeps) {
  const sessions = operatorSessions(deps);
  const app = adminListener({ ...deps, sessions });
  registerRoutes(app, { ...deps, sessions }, adminRoutes);
  answerOtherMethods(app);
  return app;
}

function docsRoutes(app: AdminListener, { adminUrl, publicUrl }: AdminDeps): void {
  documentationRoutes(app, {
    title: "On Air Admin API",
    reader: "operator",
    look: ownLook,
    setUrl: null,
    url: adminUrl,
    publicUrl,
    complete: async (...of) => (await import("./openapi/admin.ts")).adminDocument(...of),
  });
}
