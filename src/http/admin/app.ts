import type { PlatformData } from "../../batch/platform-data.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/store.ts";
import type { Publisher } from "../../webhooks/publisher.ts";
import { answerOtherMethods } from "../server.ts";
import { applicationRoutes } from "./applications.ts";
import { adminListener } from "./base.ts";
import { dataRoutes } from "./data.ts";
import { eventRoutes } from "./events.ts";
import { healthRoutes } from "./health.ts";

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
}

/** All routes of the admin listener. */
export function adminApp(deps: AdminDeps) {
  const app = adminListener(deps);
  healthRoutes(app, deps.isReady);
  applicationRoutes(app, deps);
  dataRoutes(app, deps.store, deps.data);
  eventRoutes(app, deps.publisher);
  answerOtherMethods(app, {});
  return app;
}
