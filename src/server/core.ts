import type { ShowKey } from "../api/admin/operator-keys.ts";
import { Changes } from "../api/http/access.ts";
import type { Listening } from "../api/http/server.ts";
import type { Engine, EngineSettings } from "../delivery/engine.ts";
import { startEngineThread } from "../delivery/thread.ts";
import { DeprecatedUse, type Deprecation, deprecatedName } from "../domain/deprecations.ts";
import { RequestCounter } from "../domain/requests.ts";
import { StatisticCounter } from "../domain/statistics.ts";
import type { Store } from "../domain/store.ts";
import { day } from "../domain/time.ts";
import type { AwsVariables } from "../operations/backups/destination.ts";
import { CertificateWatch, listenerCertificates } from "../operations/certificates.ts";
import { StorageWatch } from "../operations/storage-health.ts";
import { descriptorLimit, startFetchThread } from "../runtime/descriptors.ts";
import { watchEventLoop } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import { Stops } from "../runtime/services.ts";
import { exitWith, exitWithout } from "../runtime/threads.ts";
import { startTracing } from "../runtime/tracing.ts";
import type { DataStorage } from "../store/data-storage.ts";
import { locationOf } from "../store/location.ts";
import { engineProgram } from "../thread-programs.ts";
import type { WelcomeSource } from "../web/session.ts";
import { type Config, collectorOf, reloadable } from "./settings/config.ts";
import type { Environment } from "./settings/read-config.ts";
import { keptMs } from "./settings/setting-values.ts";
import { changedSettings, flagOf, settingsInForce } from "./settings/shown-settings.ts";
import { storageAt } from "./storage-at.ts";

/*
 * What every stage of the start of a server needs: its options, the settings in effect, the engine with its data, and
 * what is counted and watched.
 */

export interface AppOptions {
  readonly config: Config;
  readonly log: Log;
  /** The clock; by default the system's. If it is given, the engine runs in this thread. */
  readonly now?: (() => number) | undefined;
  /** The monotonic clock for a given `now`; by default `now` itself. */
  readonly monotonic?: (() => number) | undefined;
  readonly random?: (() => number) | undefined;
  readonly times?: EngineTimes | undefined;
  /** Shows the operator key of a first start; by default it is written to a file in the data directory. */
  readonly showAdminKey?: ShowKey | undefined;
  /** The limit of wrong operator keys per minute and address; 0 for no limit. */
  readonly wrongKeyLimit?: number | undefined;
  /** The credentials for backups to S3. */
  readonly aws?: AwsVariables;
  /** The environment variables, which the findings check. */
  readonly env?: Environment | undefined;
  /** The files that contain secrets of the settings; the findings check their modes. */
  readonly secretFiles?: readonly string[];
  /** Called with the store before the listeners start. */
  readonly prepare?: ((store: Store) => Promise<void>) | undefined;
  /** The first page of the public listener; by default there is none. */
  readonly welcome?: WelcomeSource | undefined;
  /** What is deprecated; by default the table of this version. */
  readonly deprecations?: readonly Deprecation[] | undefined;
}

/** The values that every stage of the start needs. */
export type Core = Awaited<ReturnType<typeof openCore>>;

/** Opens the settings, the certificates, and the engine with its data. What it starts is added to `stops`. */
export async function openCore(options: AppOptions, stops: Stops) {
  const { log, now = Date.now } = options;
  const { live: config, reload, inForce } = liveSettings(options.config);
  const deprecated = new DeprecatedUse(options.deprecations);
  warnOfDeprecated(options.config, deprecated, log);
  const location = locationOf(config);
  const certificates = listenerCertificates(config, now());
  const storage = new StorageWatch(log);
  // Here, while no client can have taken the descriptors.
  startFetchThread();
  const tracing = startTracing(collectorOf(config), log);
  if (tracing) stops.add("tracing", () => tracing.stop());
  const callers = new Changes();
  const engine = await startedEngine(options, await storageAt(location), storage, callers);
  stops.add("engine", (graceMs) => engine.stop(graceMs));
  const eventLoop = watchEventLoop();
  stops.add("event loop", () => eventLoop.stop());
  const certificateWatch = new CertificateWatch({ log, now });
  stops.add("certificates", () => certificateWatch.stop());
  stops.add("storage", () => storage.stop());
  const life: { phase: "starting" | "serving" | "stopping" } = { phase: "starting" };
  return {
    options,
    /** The current settings. `reload` applies those that may change at SIGHUP; `inForce` returns all for display. */
    config,
    reload,
    inForce,
    log,
    now,
    location,
    certificates,
    certificateWatch,
    storage,
    engine,
    /** Notes the changes, made through the store of `engine`, of what callers may have in a cache. */
    callers,
    eventLoop,
    counter: new StatisticCounter(now),
    requests: new RequestCounter(now),
    /** What requests and settings use of what is deprecated. */
    deprecated,
    tracing,
    life,
    /** The listeners, and what else stops together with them. */
    listeners: new Stops(log),
    /** The public and the admin listener, once they accept connections. */
    listening: [] as Listening[],
  };
}

/** Logs the deprecated settings that do not have their default. */
function warnOfDeprecated(config: Config, deprecated: DeprecatedUse, log: Log): void {
  for (const one of deprecated.ofSettings(changedSettings(config))) {
    const { since, removedIn, sunsetDay, instead } = one;
    const dates = { since, removed_in: removedIn, sunset: sunsetDay };
    log.warn("deprecated_setting", { what: deprecatedName(one), ...dates, instead });
  }
}

/** Nothing may be sent any more, either: the other process sends what is pending. */
const takenMessage =
  "Another process has taken the data directory, so this server has stopped. Nothing that was acknowledged is lost. The lock of the directory was removed (onair.lock), or does not reach the other host.";

/** Starts the engine in a separate thread, or in this one if a clock is injected. */
async function startedEngine(
  options: AppOptions,
  data: DataStorage,
  { note }: StorageWatch,
  callers: Changes,
): Promise<Engine> {
  const callersChanged = () => callers.note();
  const { config, log, now, monotonic, random = Math.random, times = {} } = options;
  const settings = engineSettings(config, times);
  if (now) {
    const { startEngine } = await import("../delivery/engine.ts");
    const clocks = { now, monotonic: monotonic ?? now };
    return startEngine({ settings, data, log, ...clocks, random, onFault: note, callersChanged });
  }
  return startEngineThread({
    program: engineProgram,
    settings,
    data,
    logLevel: config.logLevel,
    log,
    onFault(fault) {
      note(fault);
      if (fault === "taken") exitWith(takenMessage, log);
    },
    failed: exitWithout("engine", log),
    callersChanged,
  });
}

/** The effect of reading the settings again, by option name. */
export interface Reloaded {
  /** Settings that have changed and are in effect. */
  readonly changed: readonly string[];
  /** Settings that have changed, with effect after a restart. */
  readonly needRestart: readonly string[];
}

/**
 * Holds the settings in effect. A reload changes those listed in `reloadable`, so read them from `live` at each use.
 */
function liveSettings(config: Config) {
  const live: { -readonly [Key in keyof Config]: Config[Key] } = { ...config };
  return {
    live: live as Config,
    /** Applies the reloadable settings of `next`. */
    reload(next: Config): Reloaded {
      const names = (Object.keys(live) as (keyof Config)[]).filter(
        (name) => !Bun.deepEquals(live[name], next[name]),
      );
      const isLive = (name: keyof Config) => (reloadable as readonly string[]).includes(name);
      for (const name of reloadable) live[name] = next[name];
      return {
        changed: names.filter(isLive).map(flagOf),
        needRestart: names.filter((name) => !isLive(name)).map(flagOf),
      };
    },
    /** Returns the settings in effect for display, without secrets. */
    inForce: () => settingsInForce(live),
  };
}

/** Times of the engine that are not settings. */
type EngineTimes = Pick<EngineSettings, "attemptTimeoutMs" | "gatherMs">;

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
