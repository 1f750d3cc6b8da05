import type { ShowKey } from "../api/admin/operator-keys.ts";
import { Changes } from "../api/http/access.ts";
import type { Engine } from "../delivery/engine.ts";
import { startEngineThread } from "../delivery/thread/link.ts";
import { StatisticCounter } from "../domain/statistics.ts";
import type { Store } from "../domain/store.ts";
import type { AwsVariables } from "../operations/backups/destination.ts";
import { CertificateWatch, listenerCertificates } from "../operations/certificates.ts";
import { StorageWatch } from "../operations/storage.ts";
import { watchEventLoop } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import { Stops } from "../runtime/services.ts";
import { exitWith, exitWithout } from "../runtime/threads.ts";
import { locationOf } from "../store/location.ts";
import { engineProgram } from "../thread-programs.ts";
import type { WelcomeSource } from "../web/session.ts";
import { type EngineTimes, engineSettings } from "./engine-settings.ts";
import type { Config } from "./settings/config.ts";
import type { Environment } from "./settings/read-config.ts";
import { collectorOf } from "./settings/sections.ts";
import { liveSettings } from "./settings/shown-settings.ts";

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
}

/** The values that every stage of the start needs. */
export type Core = Awaited<ReturnType<typeof openCore>>;

/** Opens the settings, the certificates, and the engine with its data. What it starts is added to `stops`. */
export async function openCore(options: AppOptions, stops: Stops) {
  const { log, now = Date.now } = options;
  const { live: config, reload, shown } = liveSettings(options.config);
  const certificates = listenerCertificates(config, now());
  const storage = new StorageWatch(log);
  const tracing = await tracingOf(config, log);
  if (tracing) stops.add("tracing", () => tracing.stop());
  const callers = new Changes();
  const engine = await startedEngine(options, storage, callers);
  stops.add("engine", (graceMs) => engine.stop(graceMs));
  const eventLoop = watchEventLoop();
  stops.add("event loop", () => eventLoop.stop());
  const certificateWatch = new CertificateWatch({ log, now });
  stops.add("certificates", () => certificateWatch.stop());
  stops.add("storage", () => storage.stop());
  const life: { phase: "starting" | "serving" | "stopping" } = { phase: "starting" };
  return {
    options,
    /** The current settings. `reload` applies those that may change at SIGHUP; `shown` returns all for display. */
    config,
    reload,
    shown,
    log,
    now,
    location: locationOf(config),
    certificates,
    certificateWatch,
    storage,
    engine,
    /** Notes the changes, made through the store of `engine`, of what callers may have in a cache. */
    callers,
    eventLoop,
    counter: new StatisticCounter(now),
    tracing,
    life,
    /** The listeners, and what else stops together with them. */
    listeners: new Stops(log),
  };
}

/** Nothing may be sent any more, either: the other process sends what is pending. */
const takenMessage =
  "Another process has taken the data directory, so this server has stopped. Nothing that was acknowledged is lost. The lock of the directory was removed (onair.lock), or does not reach the other host.";

/** Starts the engine in a separate thread, or in this one if a clock is injected. */
async function startedEngine(options: AppOptions, { note }: StorageWatch, callers: Changes): Promise<Engine> {
  const callersChanged = () => callers.note();
  const { config, log, now, monotonic, random = Math.random, times = {} } = options;
  const settings = engineSettings(config, times);
  if (now) {
    const { startEngine } = await import("../delivery/engine.ts");
    const clocks = { now, monotonic: monotonic ?? now };
    return startEngine({ settings, log, ...clocks, random, onFault: note, callersChanged });
  }
  return startEngineThread({
    program: engineProgram,
    settings,
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

/** Starts the tracing of this thread; null if it is off. Its modules are loaded only if it is on. */
async function tracingOf(config: Config, log: Log) {
  const settings = collectorOf(config);
  if (!settings) return null;
  const { startRequestTracing } = await import("../runtime/tracing/spans.ts");
  return startRequestTracing(settings, log);
}
