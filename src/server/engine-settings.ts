import type { EngineSettings } from "../delivery/engine.ts";
import { day } from "../domain/time.ts";
import { descriptorLimit } from "../runtime/files.ts";
import { locationOf } from "../store/location.ts";
import { type Config, collectorOf } from "./settings/config.ts";
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

/** The usual upper bound of memory per attempt: a connection with TLS, its buffers, the request and the response. */
const bytesPerConnection = 64 * 1024;
/** The share of memory for connections of deliveries. */
const memoryPart = 1 / 8;
/**
 * The share of descriptors for connections of deliveries. A quarter is for public connections, before they have to make
 * room (`api/http/descriptors.ts`), and another one for the admin listener and files.
 */
const descriptorPart = 1 / 2;
/** Of that share, descriptors left to the database, the log, and files that are open for a short time. */
const otherDescriptors = 64;
/** About half of the local ports for one address, because a closed connection keeps its port for a while. */
const maxConnections = 16_384;
const minConnections = 16;

/**
 * Returns how many connections deliveries may have, idle ones included.
 *
 * @param limits.descriptors the limit of open descriptors; null if the system does not report it
 * @param limits.memory bytes that this process may use
 */
export function connectionCapacity(limits: {
  readonly descriptors: number | null;
  readonly memory: number;
}): number {
  const { descriptors } = limits;
  const byDescriptors =
    descriptors === null ? maxConnections : Math.floor(descriptors * descriptorPart) - otherDescriptors;
  const byMemory = Math.floor((limits.memory * memoryPart) / bytesPerConnection);
  return Math.max(minConnections, Math.min(maxConnections, byDescriptors, byMemory));
}
