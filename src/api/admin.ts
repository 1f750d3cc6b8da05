import { applicationRoutes, secretRoutes, usageRoutes } from "./admin/applications.ts";
import { auditRoutes } from "./admin/audit.ts";
import { backupRoutes } from "./admin/backups.ts";
import { consoleRoutes } from "./admin/console.ts";
import { deliveryRoutes, replayRoutes } from "./admin/deliveries.ts";
import { backlogRoute, endpointRoutes, subscriptionRoutes } from "./admin/endpoints.ts";
import { catalogueRoute, eventTypeRoutes } from "./admin/event-types.ts";
import { eventRoutes } from "./admin/events.ts";
import { keyRoutes } from "./admin/keys.ts";
import { type AdminDeps, adminListener } from "./admin/listener.ts";
import { loginRequestRoutes } from "./admin/login-requests.ts";
import { metricRoutes } from "./admin/metrics.ts";
import { noticeRoutes } from "./admin/notices.ts";
import { operatorSessions } from "./admin/operator-keys.ts";
import { lookUpRoutes } from "./admin/ranking.ts";
import { categoryRoutes, channelRoutes, livestreamRoutes, userRoutes } from "./admin/records.ts";
import { findingRoute, healthRoutes, holdRoutes, settingRoutes, storageRoute } from "./admin/server.ts";
import { outcomeRoute, statisticRoutes } from "./admin/statistics.ts";
import { consentRoutes, tokenRoutes } from "./admin/tokens.ts";
import { operatorScheme } from "./http/documentation.ts";
import { answerOtherMethods } from "./http/server.ts";
import { openApiRoutes } from "./openapi/scalar.ts";

/** All routes of the admin listener. */
export function adminApp(deps: AdminDeps) {
  const sessions = operatorSessions(deps);
  const app = adminListener({ ...deps, sessions });
  healthRoutes(app, deps.whyNotReady);
  metricRoutes(app, deps);
  applicationRoutes(app, deps);
  secretRoutes(app, deps);
  usageRoutes(app, deps);
  tokenRoutes(app, deps);
  loginRequestRoutes(app, deps);
  consentRoutes(app, deps);
  userRoutes(app, deps);
  categoryRoutes(app, deps);
  channelRoutes(app, deps);
  livestreamRoutes(app, deps);
  lookUpRoutes(app, deps);
  eventRoutes(app, deps);
  eventTypeRoutes(app, deps);
  catalogueRoute(app, deps);
  holdRoutes(app, deps);
  deliveryRoutes(app, deps);
  backlogRoute(app, deps);
  replayRoutes(app, deps);
  subscriptionRoutes(app, deps);
  endpointRoutes(app, deps);
  backupRoutes(app, deps);
  keyRoutes(app, deps);
  noticeRoutes(app, deps);
  auditRoutes(app, deps);
  settingRoutes(app, deps);
  storageRoute(app, deps);
  findingRoute(app, deps);
  statisticRoutes(app, deps);
  outcomeRoute(app, { ...deps, sessions });
  consoleRoutes(app, { ...deps, sessions });
  openApiRoutes(app, {
    path: "/docs",
    title: "On Air Admin API",
    scheme: operatorScheme,
    url: deps.adminUrl,
    complete: async (...of) => (await import("./openapi/admin.ts")).adminDocument(...of),
  });
  answerOtherMethods(app);
  return app;
}
