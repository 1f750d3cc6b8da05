import type { Engine } from "../../engine/engine.ts";
import type { Ranking } from "../../ranking/ranking.ts";
import type { PublicKeyForms } from "../../webhooks/signature.ts";
import type { Cursors } from "../cursors.ts";
import { authorizeRoute } from "../oauth/authorize.ts";
import { introspectRoute } from "../oauth/introspect.ts";
import { metadataRoute } from "../oauth/metadata.ts";
import { revokeRoute } from "../oauth/revoke.ts";
import { tokenRoute } from "../oauth/token.ts";
import { answerOtherMethods } from "../server.ts";
import type { EventStreams } from "../stream/event-streams.ts";
import { streamRoute } from "../stream/route.ts";
import { assetRoutes } from "./assets.ts";
import { type PublicDeps, preflight, publicListener } from "./base.ts";
import { categoryRoutes } from "./categories.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { docsRoutes } from "./docs.ts";
import { eventRoutes } from "./events.ts";
import { healthRoutes } from "./health.ts";
import { openApiRoute } from "./openapi.ts";
import { tokenScheme } from "./reference.ts";
import { described } from "./reference-schemas.ts";
import { replayRoutes } from "./replays.ts";
import { subscriptionRoutes } from "./subscriptions.ts";
import { testRoute } from "./test.ts";
import { userRoutes } from "./users.ts";

const oauth = () => import("./reference-oauth.ts");

/** All routes of the public listener. */
export function publicApp(
  deps: PublicDeps & {
    ranking: Ranking;
    cursors: Cursors;
    defaultSubscriptionLimit: number;
    publicKey: () => PublicKeyForms;
    streams: Pick<EventStreams, "open">;
    engine: Pick<Engine, "test">;
  },
) {
  const app = publicListener(deps);
  userRoutes(app, deps);
  categoryRoutes(app, deps, deps.ranking, deps.cursors);
  subscriptionRoutes(app, deps, deps.defaultSubscriptionLimit);
  eventRoutes(app, deps, deps.publicKey);
  streamRoute(app, deps.streams);
  healthRoutes(app, deps);
  deliveryRoutes(app, deps, deps.cursors);
  replayRoutes(app, deps);
  testRoute(app, deps, deps.engine);
  tokenRoute(
    app,
    deps,
    described(async () => (await oauth()).tokenDetail),
  );
  revokeRoute(
    app,
    deps,
    described(async () => (await oauth()).revokeDetail),
  );
  introspectRoute(
    app,
    deps,
    described(async () => (await oauth()).introspectDetail),
  );
  authorizeRoute(
    app,
    deps,
    described(async () => (await import("./reference-authorize.ts")).authorizeDetail),
  );
  metadataRoute(
    app,
    deps,
    described(async () => (await oauth()).metadataDetail),
  );
  openApiRoute(app, deps.publicUrl, async (...of) => (await import("./document.ts")).publicDocument(...of));
  docsRoutes(app, { title: "On Air API", scheme: tokenScheme, publicUrl: deps.publicUrl });
  assetRoutes(app);
  answerOtherMethods(app, preflight);
  return app;
}
