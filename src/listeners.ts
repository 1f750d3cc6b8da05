import { backupsElsewhere } from "./backups/elsewhere.ts";
import { backupLookMs, openBackups } from "./backups/open-backups.ts";
import type { AwsVariables } from "./backups/place.ts";
import { platformData } from "./batch/platform-data.ts";
import { createPublisher } from "./batch/publisher.ts";
import { type Rereading, rereading } from "./batch/rereading.ts";
import type { Config } from "./config/config.ts";
import type { Environment } from "./config/read-config.ts";
import type { WelcomeSource } from "./console/session.ts";
import { hourlyKinds, logBytesOf, samplingSizes, sizesOf } from "./data/disk-sizes.ts";
import { placeOf } from "./data/place.ts";
import { StorageWatch } from "./data/storage-watch.ts";
import { cursorKeyOf, dataIdOf, signingKeySetting } from "./data/stored-keys.ts";
import { catalogueOf, updateCatalogue } from "./domain/events/registered.ts";
import { StatisticCounter } from "./domain/operations/statistics.ts";
import { minute, second } from "./domain/time.ts";
import type { Engine } from "./engine/engine.ts";
import { type EngineTimes, engineSettings } from "./engine/engine-settings.ts";
import { startEngineThread } from "./engine/link/thread.ts";
import { storingStatistics } from "./engine/storing-statistics.ts";
import type { AdminDeps } from "./http/admin/base.ts";
import type { ShowKey } from "./http/admin/first-key.ts";
import { Cursors } from "./http/cursors.ts";
import { publicServer } from "./http/public/server.ts";
import { listen } from "./http/server.ts";
import { OutcomeStreams } from "./http/stream/outcome-streams.ts";
import { Traffic } from "./http/traffic.ts";
import type { Log } from "./log/log.ts";
import { repeating, supervise } from "./runtime/services.ts";
import type { CertificateWatch } from "./serving/certificate-watch.ts";
import { certificateFiles, readCertificate } from "./serving/certificates.ts";
import { trustedProxies } from "./serving/client-address.ts";
import { liveSettings } from "./serving/reload.ts";
import { heldSetting } from "./store/settings.ts";
import type { Store } from "./store/store.ts";
import { backupProgram, databaseCheckProgram, engineProgram } from "./thread-programs.ts";
import { watchEventLoop } from "./threads/event-loop-delay.ts";
import { exitWithout } from "./threads/exit.ts";
import { noSpans } from "./tracing/span-counts.ts";
import { collectorOf } from "./tracing/tracing-settings.ts";

/*
 * The stages of a start: what both listeners share, then each of them.
 */

export interface AppOptions {
  readonly config: Config;
  readonly log: Log;
  /** The clock; by default the system's. */
  readonly now?: (() => number) | undefined;
  /** A monotonic clock to go with `now`; by default `now` itself. */
  readonly monotonic?: (() => number) | undefined;
  readonly random?: (() => number) | undefined;
  readonly times?: EngineTimes | undefined;
  /** Shows the operator key of a first start; by default it is written to a file in the data directory. */
  readonly showAdminKey?: ShowKey | undefined;
  /** Wrong operator keys a minute for each address, in place of the default; 0 means no limit. */
  readonly wrongKeyLimit?: number | undefined;
  /** The credentials of S3, for backups that go there. */
  readonly aws?: AwsVariables;
  /** Its variables, for what is found in them. */
  readonly env?: Environment | undefined;
  /** The files that hold secrets of the settings, for what is found in their modes. */
  readonly secretFiles?: readonly string[];
  /** Called with the data before anything listens. */
  readonly prepare?: ((store: Store) => Promise<void>) | undefined;
  /** The first page of the public listener; by default there is none. */
  readonly welcome?: WelcomeSource | undefined;
}

export type Core = Awaited<ReturnType<typeof openCore>>;
type Parts = Awaited<ReturnType<typeof partsOf>>;
type Open = Awaited<ReturnType<typeof startPublic>>;

/** The settings, the certificates and the engine with its data. */
export async function openCore(options: AppOptions) {
  const { log, now = Date.now } = options;
  const { live: config, reload, shown } = liveSettings(options.config);
  const storage = new StorageWatch(log);
  const files = certificateFiles(config);
  const certificates = {
    public: files.public && readCertificate(files.public, now()),
    admin: files.admin && readCertificate(files.admin, now()),
  };
  const engine = await engineOf(options, storage.note);
  const life: { phase: "starting" | "serving" | "stopping"; certificates: CertificateWatch | null } = {
    phase: "starting",
    certificates: null,
  };
  return {
    config,
    reload,
    shown,
    log,
    now,
    place: placeOf(config),
    storage,
    files,
    certificates,
    engine,
    eventLoop: watchEventLoop(),
    life,
  };
}

/** Starts the engine in a thread of its own, or in this one when a clock is injected. */
async function engineOf(options: AppOptions, onFault: StorageWatch["note"]): Promise<Engine> {
  const { config, log, now, monotonic, random = Math.random, times = {} } = options;
  const settings = engineSettings(config, times);
  if (now) {
    const { startEngine } = await import("./engine/start.ts");
    return startEngine({ settings, log, now, monotonic: monotonic ?? now, random, onFault });
  }
  return startEngineThread({
    program: engineProgram,
    settings,
    logLevel: config.logLevel,
    log,
    onFault,
    failed: exitWithout("engine", log),
  });
}

/** What both listeners share. */
export async function partsOf({ config, engine, log, now, place }: Core, options: AppOptions) {
  const cursorKey = await cursorKeyOf(engine.store);
  const signingKey = (await engine.store.settings.get(signingKeySetting)) ?? "";
  const catalogue = await catalogueOf(await engine.store.eventTypes.all());
  for (const name of Object.keys(config.timeToLive)) {
    if (!catalogue.has(name)) log.warn("unknown_event_type", { setting: "time-to-live", name });
  }
  const outcomes = new OutcomeStreams(engine);
  const backups =
    "directory" in place
      ? await openBackups(place.directory, config, {
          dataId: () => dataIdOf(engine.store),
          program: backupProgram,
          now,
          monotonic: options.now && (options.monotonic ?? options.now),
          log,
          aws: options.aws ?? {},
          announce: (type, data) => void engine.notify(type, data),
          isHeld: async () => Boolean(await engine.store.settings.get(heldSetting)),
          changed: () => outcomes.changed("backups"),
        })
      : backupsElsewhere;
  const tracing = await tracingOf(config, log);
  const publisher = createPublisher(engine, {
    now,
    catalogue,
    timeToLive: config.timeToLive,
    traces: tracing?.publishing ?? null,
  });
  const counter = new StatisticCounter(now);
  return { cursorKey, signingKey, catalogue, outcomes, backups, tracing, publisher, counter };
}

/** The tracing of this thread, loaded where it is set. */
async function tracingOf(config: Config, log: Log) {
  const settings = collectorOf(config);
  if (!settings) return null;
  const { startRequestTracing } = await import("./tracing/requests.ts");
  return startRequestTracing(settings, log);
}

/** Starts the public listener, and listens to changes of other replicas. */
export async function startPublic(core: Core, parts: Parts, welcome: WelcomeSource | undefined) {
  const { config, engine, log, now, place, certificates } = core;
  const { tracing, ...shared } = parts;
  const { catalogue } = parts;
  const api = await publicServer({
    config,
    ...shared,
    traces: tracing?.requestsOf(false) ?? null,
    engine,
    log,
    now,
    welcome,
    isReplica: "database" in place,
    certificate: certificates.public,
  });
  const types = rereading(async () => updateCatalogue(catalogue, await engine.store.eventTypes.all()));
  const again: { readonly types: Rereading; keys: Rereading | null } = { types, keys: null };
  engine.onNews((news) => {
    api.hear(news);
    if (news.kind === "missed" || news.kind === "event_types") again.types.ask();
    if (news.kind === "missed" || news.kind === "operator_keys") again.keys?.ask();
  });
  return { api, rereading: again, listening: api.listen() };
}

/** Starts the engine and the admin listener, which is loaded only now. */
export async function startAdmin(core: Core, parts: Parts, open: Open, options: AppOptions) {
  const { config, engine, log, now, place, storage, life } = core;
  const { outcomes, counter, cursorKey, tracing, ...shared } = parts;
  const { adminApp } = await import("./http/admin/app.ts");
  const { findingsWatch } = await import("./http/admin/operations/findings.ts");
  const { AuditTrail } = await import("./http/admin/operations/audit-trail.ts");
  const { OperatorKeys } = await import("./http/admin/operator-keys.ts");
  await engine.started;
  const { store, ranking, traffic, publicUrl, rateLimit, limiter, isCurrent, follower } = open.api;
  const operatorKeys = new OperatorKeys({ store, now, environment: config.adminKey, isCurrent });
  open.rereading.keys = rereading(() => operatorKeys.load());
  await operatorKeys.load();
  const data = platformData({ store, ranking, now, follower });
  const trail = new AuditTrail({ store, log, now, changed: (topic) => outcomes.changed(topic) });
  const findings = findingsOf(core, options);
  let adminUrl = "";
  const admin = adminApp({
    ...shared,
    store,
    engine,
    data,
    cursors: new Cursors(cursorKey),
    log,
    now,
    operatorKeys,
    outcomes,
    facts: {
      get settings() {
        return core.shown();
      },
      startedAt: now(),
      get subscriptionLimit() {
        return config.subscriptionLimit;
      },
      rateLimit,
      storage: () => ("directory" in place ? sizesOf(place.directory) : null),
      kindSizes: hourlyKinds(async () => {
        if ("database" in place) return store.statistics.kindSizes();
        const { measuredSizes } = await import("./doctor/database.ts");
        return (await measuredSizes(databaseCheckProgram, place.directory)).kinds;
      }, now),
      watched: {
        database: "directory" in place ? "sqlite" : "postgresql",
        logBytes: () => ("directory" in place ? logBytesOf(place.directory) : null),
        openStreams: open.api.openStreams,
        certificates: () => life.certificates?.expiries() ?? [],
        eventLoopDelay: core.eventLoop.delay,
        spans: () => tracing?.counts() ?? noSpans,
      },
    },
    findings,
    trail,
    hosts: [config.adminHost, ...config.adminHosts],
    wrongKeyLimit: options.wrongKeyLimit,
    limiter,
    allowPrivateWebhooks: config.allowPrivateWebhooks,
    trustedProxies: trustedProxies(config.trustedProxies),
    async whyNotReady() {
      if (life.phase !== "serving") return `The server is ${life.phase}`;
      await storage.look();
      return storage.problem;
    },
    publicTraffic: traffic,
    traffic: new Traffic("admin", counter, tracing?.requestsOf(true)),
    publicUrl,
    adminUrl: () => adminUrl,
  });
  const { adminHost: hostname, adminPort: port } = config;
  const listening = listen(admin, { hostname, port, certificate: core.certificates.admin });
  adminUrl = listening.url;
  const { keyFile, settleOperatorKeys } = await import("./http/admin/first-key.ts");
  const inFile = "directory" in place ? keyFile(place.directory, log) : null;
  await settleOperatorKeys({ store, operatorKeys, show: options.showAdminKey ?? inFile, now, log });
  return { data, trail, listening, lookForFindings: findingsWatch(findings, outcomes) };
}

const findEveryMs = 15 * second;

/** What runs beside the listeners. */
export function servicesOf(
  { engine, log, now, place }: Core,
  { counter, backups, outcomes }: Parts,
  lookForFindings: () => Promise<void>,
) {
  const sizes = "directory" in place ? [samplingSizes(place.directory, engine.store, now)] : [];
  const backing = repeating("backups", backupLookMs, () => backups.look());
  const finding = repeating("findings", findEveryMs, lookForFindings);
  let minuteNow = Math.floor(now() / minute);
  const storing = storingStatistics(counter, engine.store, log, () => {
    const before = minuteNow;
    minuteNow = Math.floor(now() / minute);
    if (minuteNow !== before) outcomes.changedHere("minute");
  });
  return supervise([storing, ...sizes, backing, finding], log);
}

/** What is wrong with the server; loaded when it is asked for first. */
function findingsOf({ config, now }: Core, options: AppOptions): AdminDeps["findings"] {
  const { env = {}, secretFiles = [] } = options;
  let running: Promise<AdminDeps["findings"]> | null = null;
  return async () => {
    running ??= import("./doctor/running.ts").then(({ runningFindings }) =>
      runningFindings({ config, env, secretFiles, program: databaseCheckProgram, now }),
    );
    return (await running)();
  };
}
