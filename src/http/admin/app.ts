import type { PlatformData } from "../../batch/platform-data.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/store.ts";
import type { Publisher } from "../../webhooks/publisher.ts";
import { answerOtherMethods, trafficOf } from "../server.ts";
import type { Traffic } from "../traffic.ts";
import { applicationRoutes } from "./applications.ts";
import { adminListener } from "./base.ts";
import { consentRoutes } from "./consents.ts";
import { dataRoutes } from "./data.ts";
import { eventRoutes } from "./events.ts";
import { healthRoutes } from "./health.ts";

import { loginRequestRoutes } from "./login-requests.ts";

import { metricRoutes } from "./metrics.ts";

export interface AdminDeps {
  readonly store: Store;
  readonly engine: Engine;
  readonly data: PlatformData;
  readonly publisher: Publisher;
  readonly log: Log;
  readonly now: () => number;
  readonly adminKeyHash: Uint8Array;
  readonly allowPrivateWebhooks: boolean;
  readonly isReady: () => boolean;
  /** Where the public listener is reached from outside, without a trailing slash. */
  readonly publicUrl: () => string;
  /** To be called when tokens were revoked. */
  readonly tokensRevoked: () => void;
  readonly publicTraffic: Traffic;
}

/** All routes of the admin listener. */
export function adminApp(deps: AdminDeps) {
  const app = adminListener(deps);
  healthRoutes(app, deps.isReady);
  metricRoutes(app, deps.engine, { public: deps.publicTraffic, admin: trafficOf(app) });
  applicationRoutes(app, deps);
  loginRequestRoutes(app, deps);
  consentRoutes(app, deps);
  dataRoutes(app, deps.store, deps.data);
  eventRoutes(app, deps.publisher);
  answerOtherMethods(app, {});
  return app;
}
