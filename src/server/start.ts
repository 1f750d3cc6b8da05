import type { AdminDeps } from "../api/admin/listener.ts";
import { keyFile, type ShowKey, settleOperatorKeys } from "../api/admin/operator-keys.ts";
import { authenticator, Changes } from "../api/http/access.ts";
import { Traffic } from "../api/http/context.ts";
import { endSilentConnections, watchDescriptors } from "../api/http/descriptors.ts";
import type { PageLook } from "../api/http/pages.ts";
import type { PlatformJwtReader } from "../api/http/platform-jwt.ts";
import { type Listening, listen, type ServedApp, startRedirect } from "../api/http/server.ts";
import { publicApp } from "../api/public.ts";
import { EventStreams, StreamSlots } from "../api/stream/streams.ts";
import type { Engine } from "../delivery/engine.ts";
import { storingRequests, storingStatistics } from "../delivery/maintenance.ts";
import { publicKeyForms, readSigningKey } from "../delivery/signature.ts";
import { startEngineThread } from "../delivery/thread.ts";
import { DeprecatedUse, type Deprecation, deprecatedName } from "../domain/deprecations.ts";
import { RequestCounter } from "../domain/requests.ts";
import { StatisticCounter } from "../domain/statistics.ts";
import {
  type CheckStorage,
  dataIdOf,
  heldSetting,
  type Store,
  signingKeySetting,
  stalledAfterMs,
} from "../domain/store.ts";
import { minute, second } from "../domain/time.ts";
import {
  type BackupKeeper,
  backupCheckMs,
  externalBackups,
  openBackups,
} from "../operations/backups/backups.ts";
import type { AwsVariables } from "../operations/backups/destination.ts";
import { CertificateWatch, listenerCertificates } from "../operations/certificates.ts";
import {
  hourlyKinds,
  logBytesOf,
  StorageWatch,
  samplingSizes,
  sizesOf,
} from "../operations/storage-health.ts";
import type { PlatformData } from "../platform/platform-data.ts";
import type { Publisher } from "../platform/publisher.ts";
import type { Ranking } from "../platform/ranking.ts";
import { trustedProxies } from "../runtime/client-address.ts";
import { watchEventLoop } from "../runtime/event-loop.ts";
import { lazily } from "../runtime/lazily.ts";
import type { Log } from "../runtime/log.ts";
import { repeating, Stops, supervise } from "../runtime/services.ts";
import { exitWith, exitWithout } from "../runtime/threads.ts";
import { noSpans, startTracing } from "../runtime/tracing.ts";
import type { DataStorage } from "../store/data-storage.ts";
import { locationOf } from "../store/location.ts";
import { backupProgram, databaseCheckProgram, engineProgram } from "../thread-programs.ts";
import type { WelcomeSource } from "../web/session.ts";
import { type EngineTimes, engineSettings } from "./engine-settings.ts";
import { loadRanking, type Memory, openMemory } from "./memory.ts";
import { type Config, collectorOf } from "./settings/config.ts";
import type { Environment } from "./settings/read-config.ts";
import { keptMs } from "./settings/setting-values.ts";
import { changedSettings, liveSettings, type Reloaded } from "./settings/shown-settings.ts";
import { databaseAt, storageAt } from "./storage-at.ts";

/*
 * The start of a server: settings and data, the engine, the data in memory, the two listeners, the services; and its
 * end. Each stage adds what it starts to `Stops`.
 */

interface AppOptions {
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

/** A running server. */
export interface App {
  readonly publicUrl: string;
  readonly adminUrl: string;
  readonly store: Store;
  readonly data: PlatformData;
  readonly engine: Engine;
  readonly publisher: Publisher;
  readonly backups: BackupKeeper;
  /** The port that redirects plain HTTP; null for none. */
  readonly redirectPort: number | null;
  /** Applies the settings that may change while the server runs. */
  reload(settings: Config): Reloaded;
  /** Reads the certificates from their files again. */
  readonly certificates: Pick<CertificateWatch, "check">;
  /** Reports not ready; after the drain delay waits for requests and attempts in flight, then closes everything. */
  stop(): Promise<void>;
}

const drainMs = 10 * second;

/**
 * Builds and starts a server. Throws when the data or a port is not available, or a setting does not fit the data;
 * everything that was started is stopped then.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const stops = new Stops(options.log);
  try {
    return await startStages(options, stops);
  } catch (error) {
    await stops.stop(0);
    throw error;
  }
}

async function startStages(options: AppOptions, stops: Stops): Promise<App> {
  const { log } = options;
  const core = await openCore(options, stops);
  const { config, engine, now } = core;
  await prepareData(core);
  const peers = await peersOf(core);
  const memory = await openMemory({
    engine,
    now,
    callers: core.callers,
    peers,
    environmentKey: config.adminKey,
  });
  const services = new Stops(log);
  stops.add("services", (graceMs) => services.stop(graceMs));
  stops.add("listeners", (graceMs) => core.listeners.stopTogether(graceMs));
  core.listeners.add("memory", () => memory.stop());
  core.listeners.add("peers", () => peers?.stop());
  await loadRanking(memory);
  for (const name of Object.keys(config.timeToLive)) {
    if (!memory.catalogue.has(name)) log.warn("unknown_event_type", { setting: "time-to-live", name });
  }
  const backups = await openBackupKeeper(core, memory);
  stops.add("backups", () => backups.stop());

  const publicListener = await startPublicListener(core, memory);
  const { streams } = publicListener;
  engine.observe({
    streamed: (applicationIds) => streams.wake(applicationIds),
    outcomes: (batches, changed) => memory.outcomes.take(batches, changed),
    replicaNotification: peers?.receiver({ ...memory, streams, log }) ?? (() => {}),
  });
  await engine.started;
  const adminListener = await startAdminListener(core, memory, publicListener, backups);
  const redirectPort = startRedirectListener(core);
  const running = startServices(core, memory, backups, adminListener.lookForFindings);
  services.add("services", () => running.stop());
  core.life.phase = "serving";
  watchStorage(core, adminListener.publisher);

  return {
    publicUrl: publicListener.url,
    adminUrl: adminListener.url,
    store: memory.store,
    data: adminListener.data,
    engine,
    publisher: adminListener.publisher,
    backups,
    redirectPort,
    certificates: core.certificateWatch,
    reload(settings) {
      const reloaded = core.reload(settings);
      memory.outcomes.changedHere("settings");
      return reloaded;
    },
    async stop() {
      core.life.phase = "stopping";
      for (const { drain } of core.listening) drain();
      // Gives load balancers time to notice that the server is not ready.
      await Bun.sleep(config.drainDelay * second);
      await stops.stop(drainMs);
      await log.flush();
    },
  };
}

/** The values that every stage of the start needs. */
type Core = Awaited<ReturnType<typeof openCore>>;

/** Opens the settings, the certificates, and the engine with its data. What it starts is added to `stops`. */
async function openCore(options: AppOptions, stops: Stops) {
  const { log, now = Date.now } = options;
  const { live: config, reload, inForce } = liveSettings(options.config);
  const deprecated = new DeprecatedUse(options.deprecations);
  warnOfDeprecated(options.config, deprecated, log);
  const location = locationOf(config);
  const certificates = listenerCertificates(config, now());
  const storage = new StorageWatch(log);
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
    inForce: inForce,
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

/** Lets the caller prepare the data, and checks the settings that refer to it. */
async function prepareData({ options, config, engine }: Core): Promise<void> {
  if (options.prepare) {
    await engine.started;
    await options.prepare(engine.store);
  }
  await requirePortalLogin(config, engine.store);
}

/** Returns the link to the other servers on the same data; null for a data directory, which one server uses. */
async function peersOf({ location, engine, now }: Core) {
  if ("directory" in location) return null;
  const { store, broadcast } = engine;
  return (await databaseAt(location.database)).peers({ store, broadcast, now });
}

/** Throws if owners cannot sign in with the application that `--portal-login` names. */
async function requirePortalLogin({ portalLogin, publicUrl }: Config, store: Store): Promise<void> {
  if (portalLogin === null) return;
  const application = await store.applications.find(portalLogin);
  if (application === null)
    throw new Error(
      `--portal-login: there is no application ${portalLogin}; "onair apps create --public" makes one`,
    );
  const uri = `${publicUrl}/portal/signed-in`;
  if (publicUrl !== null && !application.redirect_uris.includes(uri))
    throw new Error(
      `--portal-login: the application ${portalLogin} lacks the redirect URI ${uri}: onair apps change ${portalLogin} --redirect-uri ${uri}`,
    );
}

/** Opens the backups of a data directory. Throws if their settings cannot be used. */
async function openBackupKeeper(core: Core, { outcomes }: Memory): Promise<BackupKeeper> {
  const { config, engine, log, now, location, options } = core;
  if ("database" in location) return externalBackups;
  return openBackups(location.directory, config, {
    dataId: () => dataIdOf(engine.store),
    program: backupProgram,
    now,
    monotonic: options.now && (options.monotonic ?? options.now),
    log,
    aws: options.aws ?? {},
    announce: (type, data) => void engine.notify(type, data),
    isHeld: async () => Boolean(await engine.store.settings.get(heldSetting)),
    changed: () => outcomes.changed("backups"),
  });
}

/** Serves an app at the address in the settings, and renews its certificate. Throws if the port is taken. */
function openListener(name: "public" | "admin", app: ServedApp, core: Core): Listening {
  const { config, certificateWatch } = core;
  const certificate = core.certificates[name];
  const { host, port, adminHost, adminPort } = config;
  const address =
    name === "public"
      ? { hostname: host, port, portOption: "--port" }
      : { hostname: adminHost, port: adminPort, portOption: "--admin-port" };
  const listening = listen(app, { ...address, certificate });
  const replace = listening.replaceCertificate;
  if (certificate) certificateWatch.add({ name, certificate, replace });
  core.listening.push(listening);
  return listening;
}

type RunningPublic = Awaited<ReturnType<typeof startPublicListener>>;

/** Starts the public listener. Throws if the port is taken. */
async function startPublicListener(core: Core, memory: Memory) {
  const { config, engine, log, now, counter, requests, deprecated, tracing } = core;
  const { store, callers, limiter, ranking, catalogue, cursors, challenges, outcomes } = memory;
  const access = {
    authenticator: authenticator(store, now, await jwtReader(config, store, now), callers),
    limiter,
    get defaultRateLimit() {
      return config.rateLimit;
    },
  };
  const signingKey = (await store.settings.get(signingKeySetting)) ?? "";
  // Read on first use, because loading node:crypto would delay the first answer.
  const keys = lazily({
    signing: () => readSigningKey(signingKey),
    public: () => publicKeyForms(signingKey),
  });
  const streams = new EventStreams({
    store,
    authenticator: access.authenticator,
    cursors,
    signingKey: () => keys.signing,
    log,
    now,
    slots: new StreamSlots(() => config.streamLimit),
    keptMs: shortestKeptMs(config),
    isTrimmed: config.maxDataSize !== null,
  });
  announceRanking(ranking, () => outcomes.changedHere("ranking"));
  const traces = tracing?.requestsOf(false) ?? null;
  const traffic = new Traffic("public", { counter, requests, traces, deprecated });
  let url = config.publicUrl ?? "";
  const app = publicApp({
    store,
    catalogue,
    engine,
    log,
    now,
    ranking,
    trustedProxies: trustedProxies(config.trustedProxies),
    traffic,
    requests,
    cursors,
    challenges,
    access,
    defaultSubscriptionLimit: () => config.subscriptionLimit,
    allowPrivateWebhooks: config.allowPrivateWebhooks,
    hstsSeconds: config.hsts,
    streams,
    outcomes,
    publicKey: () => keys.public,
    publicUrl: () => url,
    loginUrl: config.loginUrl,
    setUrl: config.publicUrl,
    look: lookOf(config),
    portal: config.portal ? { ...lookOf(config), hasLogin: config.portalLogin !== null } : null,
    portalLogin: config.portalLogin,
    welcome: core.options.welcome ?? null,
  });
  const listening = openListener("public", app, core);
  const descriptors = watchDescriptors({
    log,
    scarce(excess, limit) {
      listening.makeRoom(excess, limit);
      const { redirectPort: port } = config;
      if (port !== null) endSilentConnections({ port, atMost: excess, busyPorts: new Set(), limit });
    },
  });
  core.listeners.add("public listener", async (graceMs) => {
    // Before the listener stops, because it waits for open answers, and streams never end by themselves.
    streams.close();
    descriptors.stop();
    await listening.stop(graceMs);
    await access.authenticator.storeUses();
  });
  url ||= listening.url;
  return {
    /** The URL of the listener. */
    url: listening.url,
    /** The URL from outside, without a trailing slash. */
    publicUrl: () => url,
    traffic,
    streams,
  };
}

/** The shortest time for which any delivery is kept. */
function shortestKeptMs(config: Config): number {
  const { keepDeliveredDays, keepFailedDays, keepBodiesDays, keepByType } = config;
  const times = [keepDeliveredDays, keepFailedDays, keepBodiesDays, ...Object.values(keepByType)];
  return Math.min(...times.map(keptMs));
}

/** The time from a change of the ranking to its announcement; longer than the ranking needs to show the change. */
const rankingEveryMs = 2 * second;

function announceRanking(ranking: Ranking, announce: () => void): void {
  let isPending = false;
  ranking.onChanged(() => {
    if (isPending) return;
    isPending = true;
    const announceNow = () => {
      isPending = false;
      announce();
    };
    setTimeout(announceNow, rankingEveryMs).unref();
  });
}

/** Returns the name and the brand of the platform. */
function lookOf({ portalName, portalAccent, portalLogo }: Config): PageLook {
  return { title: portalName, accent: portalAccent, logo: portalLogo === null ? null : Bun.file(portalLogo) };
}

/** Returns the reader of the platform's tokens; null if they are not accepted. Loads the JWT library only if needed. */
async function jwtReader(
  { jwksUrl, jwtIssuer, jwtAudience, jwtAppWithoutSub: appWithoutSub }: Config,
  store: Store,
  now: () => number,
): Promise<PlatformJwtReader | null> {
  if (jwksUrl === null || jwtIssuer === null || jwtAudience === null) return null;
  const { platformJwtReader } = await import("../api/http/platform-jwt.ts");
  return platformJwtReader({
    settings: { jwksUrl, issuer: jwtIssuer, audience: jwtAudience, appWithoutSub },
    store,
    now,
  });
}

/** Starts the admin listener and makes sure that there is an operator key. Throws if the port is taken. */
async function startAdminListener(
  core: Core,
  memory: Memory,
  publicListener: RunningPublic,
  backups: BackupKeeper,
) {
  const { config, engine, log, now, storage, life, counter, deprecated, tracing, options } = core;
  const { store, operatorKeys } = memory;
  // Loaded here, so that the first answers of the public listener do not wait for it.
  const { adminOf } = await import("./admin.ts");
  await operatorKeys.load();
  let adminUrl = "";
  const { app, data, publisher, trail, lookForFindings } = adminOf(memory, {
    engine,
    backups,
    log,
    now,
    confirmAbovePercent: config.confirmSnapshotAbove,
    timeToLive: config.timeToLive,
    traces: tracing?.publishing ?? null,
    facts: factsOf(core, memory, publicListener),
    findings: findingsOf(core),
    hosts: [config.adminHost, ...config.adminHosts],
    wrongKeyLimit: options.wrongKeyLimit,
    allowPrivateWebhooks: config.allowPrivateWebhooks,
    trustedProxies: trustedProxies(config.trustedProxies),
    async whyNotReady() {
      if (life.phase !== "serving") return `The server is ${life.phase}`;
      await storage.check();
      return storage.problem;
    },
    isStopping: () => life.phase === "stopping",
    traffic: {
      public: publicListener.traffic,
      admin: new Traffic("admin", { counter, deprecated, traces: tracing?.requestsOf(true) ?? null }),
    },
    publicUrl: publicListener.publicUrl,
    adminUrl: () => adminUrl,
    welcomeUrl: options.welcome && (() => `${publicListener.publicUrl()}/welcome`),
  });
  const listening = openListener("admin", app, core);
  // Waits for requests in flight, and writes their audit entries.
  core.listeners.add("admin listener", async (graceMs) => {
    await listening.stop(graceMs);
    await trail.flush();
  });
  adminUrl = listening.url;
  const inFile = "directory" in core.location ? keyFile(core.location.directory, log) : null;
  await settleOperatorKeys({ store, operatorKeys, show: options.showAdminKey ?? inFile, now, log });
  return { url: listening.url, data, publisher, lookForFindings };
}

function factsOf(core: Core, { store, limiter }: Memory, { streams }: RunningPublic): AdminDeps["facts"] {
  const { config, now, location, tracing } = core;
  return {
    get settings() {
      return core.inForce();
    },
    startedAt: now(),
    get subscriptionLimit() {
      return config.subscriptionLimit;
    },
    rateLimit: ({ id, rate_limit }) => limiter.peek(id, rate_limit ?? config.rateLimit),
    storage: () => ("directory" in location ? sizesOf(location.directory) : null),
    kindSizes: hourlyKinds(async () => {
      if ("database" in location) return store.statistics.kindSizes();
      const { measuredSizes } = await import("../operations/checks/database-thread.ts");
      return measuredSizes(databaseCheckProgram, location.directory);
    }, now),
    metrics: {
      database: "directory" in location ? "sqlite" : "postgresql",
      logBytes: () => ("directory" in location ? logBytesOf(location.directory) : null),
      openStreams: () => streams.count,
      certificates: () => core.certificateWatch.expiries(),
      eventLoopDelay: core.eventLoop.delay,
      spans: () => tracing?.counts() ?? noSpans,
    },
  };
}

/** Returns a function that finds problems of the running server. Its modules are loaded on the first call. */
function findingsOf({ config, now, options, deprecated }: Core): AdminDeps["findings"] {
  const { env = {}, secretFiles = [] } = options;
  let running: Promise<AdminDeps["findings"]> | null = null;
  return async () => {
    running ??= import("../operations/checks/checks.ts").then(({ runningFindings }) =>
      runningFindings({
        config,
        env,
        secretFiles,
        program: databaseCheckProgram,
        databaseAt,
        now,
        deprecated,
      }),
    );
    return (await running)();
  };
}

/** Starts the listener that redirects plain HTTP, if the settings have one. Returns its port; null for none. */
function startRedirectListener({ config, listeners }: Core): number | null {
  const { host: hostname, redirectPort: port, publicUrl: to } = config;
  if (port === null || to === null) return null;
  const redirect = startRedirect({ hostname, port, to });
  listeners.add("redirect", (graceMs) => redirect.stop(graceMs));
  return redirect.port;
}

const findEveryMs = 15 * second;

/** Starts the services of the main thread. @param lookForFindings called at intervals */
function startServices(
  { engine, log, now, location, counter, requests }: Core,
  { outcomes }: Memory,
  backups: BackupKeeper,
  lookForFindings: () => Promise<void>,
) {
  const sizes = "directory" in location ? [samplingSizes(location.directory, engine.store, now)] : [];
  const backing = repeating("backups", backupCheckMs, () => backups.check());
  const finding = repeating("findings", findEveryMs, lookForFindings);
  let minuteNow = Math.floor(now() / minute);
  const storing = storingStatistics(counter, engine.store, log, () => {
    const before = minuteNow;
    minuteNow = Math.floor(now() / minute);
    if (minuteNow !== before) outcomes.changedHere("minute");
  });
  const storingCalls = storingRequests(requests, engine.store, log);
  return supervise([storing, storingCalls, ...sizes, backing, finding], log);
}

/** Watches whether the data can be read and written, from now on. */
function watchStorage({ engine, storage }: Core, publisher: Publisher): void {
  const check: CheckStorage = async (isTroubled) => {
    const fault = await engine.checkStorage(isTroubled);
    return fault ?? (publisher.oldestMs > stalledAfterMs ? "stalled" : null);
  };
  storage.start(check, (type, data) => void engine.notify(type, data));
}
