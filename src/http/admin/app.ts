import { adminReference } from "../openapi/admin-reference.ts";
import { openApiRoutes } from "../openapi/plugin.ts";
import { answerOtherMethods } from "../server.ts";
import { applicationRoutes } from "./applications.ts";
import { backupRoutes } from "./backups.ts";
import { type AdminDeps, adminListener } from "./base.ts";
import { consentRoutes } from "./consents.ts";
import { deliveryRoutes } from "./events/deliveries.ts";
import { endpointRoutes } from "./events/endpoints.ts";
import { eventTypeRoutes } from "./events/event-types.ts";
import { eventRoutes } from "./events/events.ts";
import { replayRoutes } from "./events/replays.ts";
import { healthRoutes } from "./health.ts";
import { keyRoutes } from "./keys.ts";
import { loginRequestRoutes } from "./login-requests.ts";
import { metricRoutes } from "./metrics.ts";
import { categoryRoutes } from "./platform/categories.ts";
import { channelRoutes } from "./platform/channels.ts";
import { livestreamRoutes } from "./platform/livestreams.ts";
import { userRoutes } from "./platform/users.ts";
import { secretRoutes } from "./secrets.ts";
import { tokenRoutes } from "./tokens.ts";

/** All routes of the admin listener. */
export function adminApp(deps: AdminDeps) {
  const app = adminListener(deps);
  healthRoutes(app, deps.whyNotReady);
  const traffic = { public: deps.publicTraffic, admin: app.decorator.listenerContext.traffic };
  metricRoutes(app, deps, traffic);
  applicationRoutes(app, deps);
  secretRoutes(app, deps);
  tokenRoutes(app, deps);
  loginRequestRoutes(app, deps);
  consentRoutes(app, deps);
  userRoutes(app, deps);
  categoryRoutes(app, deps);
  channelRoutes(app, deps);
  livestreamRoutes(app, deps);
  eventRoutes(app, deps);
  eventTypeRoutes(app, deps);
  deliveryRoutes(app, deps);
  replayRoutes(app, deps);
  endpointRoutes(app, deps);
  backupRoutes(app, deps);
  keyRoutes(app, deps);
  openApiRoutes(app, adminReference(deps.adminUrl));
  answerOtherMethods(app, {});
  return app;
}
