import type { Backups } from "../../backups/backups.ts";
import type { PlatformData } from "../../batch/platform-data.ts";
import type { Publisher } from "../../batch/publisher.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Log } from "../../log.ts";
import type { TrustedProxies } from "../../proxies.ts";
import type { Store } from "../../store/store.ts";
import type { Cursors } from "../cursors.ts";
import { adminReference } from "../openapi/admin-reference.ts";
import { openApiRoutes } from "../openapi/plugin.ts";
import { answerOtherMethods } from "../server.ts";
import type { Traffic } from "../traffic.ts";
import { applicationRoutes } from "./applications.ts";
import { backupRoutes } from "./backups.ts";
import { adminListener } from "./base.ts";
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
import type { OperatorKeys } from "./operator-keys.ts";
import { categoryRoutes } from "./platform/categories.ts";
import { channelRoutes } from "./platform/channels.ts";
import { livestreamRoutes } from "./platform/livestreams.ts";
import { userRoutes } from "./platform/users.ts";
import { secretRoutes } from "./secrets.ts";
import { tokenRoutes } from "./tokens.ts";

interface AdminDeps {
  readonly store: Store;
  readonly engine: Engine;
  readonly data: PlatformData;
  readonly publisher: Publisher;
  readonly backups: Backups;
  readonly catalogue: Catalogue;
  readonly cursors: Cursors;
  readonly log: Log;
  readonly now: () => number;
  readonly operatorKeys: OperatorKeys;
  /** Wrong keys a minute for each address, in place of the default; 0 means no limit. */
  readonly wrongKeyLimit?: number | undefined;
  /** Further host names that the listener accepts, besides `localhost` and IP addresses. */
  readonly hosts?: readonly string[];
  readonly allowPrivateWebhooks: boolean;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: TrustedProxies;
  /** The reason why the server is not ready; null when it is ready. */
  readonly whyNotReady: () => Promise<string | null>;
  readonly publicTraffic: Traffic;
  /** The external URL of the public listener, without a trailing slash. */
  readonly publicUrl: () => string;
  /** The URL of this listener, without a trailing slash. */
  readonly adminUrl: () => string;
}

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
