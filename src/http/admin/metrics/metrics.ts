import { type RequestContext, reply } from "../../request-context.ts";
import type { AdminDeps, AdminListener } from "../base.ts";
import { backupMetrics } from "./backups.ts";
import { deliveryMetrics, trafficMetrics } from "./counted.ts";
import { type AnyMetric, exposition, formatFor } from "./exposition.ts";
import { processMetrics } from "./process.ts";
import { storageMetrics } from "./storage.ts";

/**
 * `/metrics` in the text format of Prometheus or, on request, in OpenMetrics with exemplars. It needs no key, because
 * it has no personal data.
 */
export function metricRoutes(app: AdminListener, deps: AdminDeps): void {
  const read = async (): Promise<readonly AnyMetric[]> => {
    const [stats, reason, storage] = await Promise.all([
      deps.engine.stats(),
      deps.whyNotReady(),
      storageMetrics(deps),
    ]);
    return [
      ...processMetrics(deps, reason === null),
      ...trafficMetrics(deps, stats),
      ...deliveryMetrics(deps, stats),
      ...storage,
      ...backupMetrics(deps),
    ];
  };
  // Concurrent scrapes share their reads: counting many pending deliveries takes a while.
  let reading: Promise<readonly AnyMetric[]> | null = null;

  const answer = async ({ requestContext }: { requestContext: RequestContext }) => {
    reading ??= read().finally(() => {
      reading = null;
    });
    const format = formatFor(requestContext.request.headers.get("accept"));
    const text = exposition(await reading, format);
    return reply(requestContext, 200, text, { "content-type": format.mediaType, vary: "Accept" });
  };
  // Hidden, because the OpenAPI document does not describe the Prometheus format.
  app.get("/metrics", answer, { keyless: true, detail: { hide: true } });
}
