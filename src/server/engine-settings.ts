import { connectionCapacity } from "../delivery/capacity.ts";
import type { EngineSettings } from "../delivery/engine.ts";
import { day } from "../domain/time.ts";
import { descriptorLimit } from "../runtime/descriptors.ts";
import { locationOf } from "../store/location.ts";
import type { Config } from "./settings/config.ts";
import { collectorOf } from "./settings/sections.ts";
import { keptMs } from "./settings/setting-values.ts";

/** Times of the engine that are not settings. */
export type EngineTimes = Pick<EngineSettings, "attemptTimeoutMs" | "gatherMs">;

/** Returns the engine's settings, made from those of the server and the limits of the machine. */
export function engineSettings(config: Config, times: EngineTimes): EngineSettings {
  const { allowPrivateWebhooks, webhookProxy, webhookConcurrency, notifyUrl, notifySecret } = config;
  const keepByType = Object.entries(config.keepByType);
  return {
    location: locationOf(config),
    allowPrivateWebhooks,
    webhookProxy,
    webhookConcurrency,
    webhookConnections: connectionCapacity({
      descriptors: descriptorLimit(),
      memory: process.constrainedMemory(),
    }),
    retention: {
      deliveredMs: keptMs(config.keepDeliveredDays),
      failedMs: keptMs(config.keepFailedDays),
      bodiesMs: keptMs(config.keepBodiesDays),
      byType: Object.fromEntries(keepByType.map(([type, time]) => [type, keptMs(time)])),
    },
    maxDataBytes: config.maxDataSize,
    auditMs: config.keepAuditDays * day,
    notifyUrl,
    notifySecret,
    tracing: collectorOf(config),
    holdDeliveries: config.holdDeliveries,
    ...times,
  };
}
