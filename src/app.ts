import { type BackupKeeper, backupsElsewhere } from "./backups/elsewhere.ts";
import { backupLookMs, openBackups } from "./backups/open-backups.ts";
import type { AwsVariables } from "./backups/place.ts";
import { type PlatformData, platformData } from "./batch/platform-data.ts";
import { createPublisher, type Publisher } from "./batch/publisher.ts";
import { type Rereading, rereading } from "./batch/rereading.ts";
import type { Config } from "./config.ts";
import type { WelcomeSource } from "./console/session.ts";
import { catalogueOf, updateCatalogue } from "./domain/events/registered.ts";
import { StatisticCounter } from "./domain/operations/statistics.ts";
import { second } from "./domain/time.ts";
import { placeOf } from "./engine/data-place.ts";
import type { Engine } from "./engine/engine.ts";
import { engineSettings } from "./engine/engine-settings.ts";
import { startEngineThread } from "./engine/link/thread.ts";
import type { ShowKey } from "./first-key.ts";
import { Cursors } from "./http/cursors.ts";
import { publicServer } from "./http/public/server.ts";
import { type Listening, listen } from "./http/server.ts";
import { OutcomeStreams } from "./http/stream/outcome-streams.ts";
import { Traffic } from "./http/traffic.ts";
import type { Log } from "./log.ts";
import { trustedProxies } from "./proxies.ts";
import { type CertificateWatch, watchCertificates } from "./serving/certificate-watch.ts";
import {
  type Certificate,
  type CertificateFiles,
  certificateFiles,
  readCertificate,
} from "./serving/certificates.ts";
import { liveSettings, type Reloaded } from "./serving/reload.ts";
import { storingStatistics } from "./statistics.ts";
import { logBytesOf, samplingSizes, sizesOf } from "./storage-sizes.ts";
import { StorageWatch } from "./storage-watch.ts";
import type { Store } from "./store/store.ts";
import { cursorKeyOf, signingKeySetting } from "./stored-keys.ts";
import { repeating, supervise } from "./supervisor.ts";
import { watchEventLoop } from "./threads/event-loop-delay.ts";
import { noSpans } from "./tracing/span-counts.ts";
import { collectorOf } from "./tracing/tracing-settings.ts";

/** A running server. */
export interface App {
  readonly publicUrl: string;
  readonly adminUrl: string;
  readonly store: Store;
  readonly data: PlatformData;
  readonly engine: Engine;
  readonly publisher: Publisher;
  readonly backups: BackupKeeper;
  /** The port that sends plain HTTP on; null for none. */
  readonly redirectPort: number | null;
  /** Takes the settings that may change while the server runs. */
  reload(settings: Config): Reloaded;
  /** Reads the certificates again. */
  readonly certificates: Pick<CertificateWatch, "look">;
  /** Stops being ready; after the drain delay waits for requests and attempts in flight, then closes everything. */
  stop(): Promise<void>;
}

interface AppOptions {
  readonly config: Config;
  readonly log: Log;
  /** The clock; by default the system's. */
  readonly now?: (() => number) | undefined;
  /** A monotonic clock to go with `now`; by default `now` itself. */
  readonly steady?: (() => number) | undefined;
  readonly random?: (() => number) | undefined;
  /** The time limit of a delivery attempt; by default 15 seconds. */
  readonly attemptTimeoutMs?: number;
  /** Shows the operator key of a first start; by default it is written to a file in the data directory. */
  readonly showAdminKey?: ShowKey | undefined;
  /** Wrong operator keys a minute for each address, in place of the default; 0 means no limit. */
  readonly wrongKeyLimit?: number | undefined;
  /** The credentials of S3, for backups that go there. */
  readonly aws?: AwsVariables;
  /** The first page of the public listener; by default there is none. */
  readonly welcome?: WelcomeSource | undefined;
}

const drainMs = 10 * second;

/** Builds and starts a server. Throws when the data or a port is not available. */
export async function startApp(options: AppOptions): Promise<App> {
  const { log, now = Date.now, welcome } = options;
  const { live: config, reload, shown } = liveSettings(options.config);
  const storage = new StorageWatch(log);
  const files = certificateFiles(config);
  const certificates = {
    public: files.public && readCertificate(files.public, now()),
    admin: files.admin && readCertificate(files.admin, now()),
  };
  const engine = await engineOf(options, storage.note);
  const started: { stop(graceMs: number): Promise<void> }[] = [];
  try {
    const cursorKey = await cursorKeyOf(engine.store);
    const signingKey = (await engine.store.settings.get(signingKeySetting)) ?? "";
    const catalogue = await catalogueOf(await engine.store.eventTypes.all());
    for (const name of Object.keys(config.timeToLive)) {
      if (!catalogue.has(name)) log.warn("unknown_event_type", { setting: "time-to-live", name });
    }
    const place = placeOf(config);
    const backups =
      "directory" in place
        ? await openBackups(place.directory, config, {
            program: backupProgram,
            now,
            steady: options.now && (options.steady ?? options.now),
            log,
            aws: options.aws ?? {},
            announce: (type, data) => void engine.notify(type, data),
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
    const outcomes = new OutcomeStreams(engine);
    const api = await publicServer({
      config,
      cursorKey,
      signingKey,
      engine,
      catalogue,
      log,
      now,
      counter,
      traces: tracing?.requestsOf(false) ?? null,
      outcomes,
      welcome,
      isReplica: "database" in place,
      certificate: certificates.public,
    });
    started.push(api);
    const readTypes = rereading(async () => updateCatalogue(catalogue, await engine.store.eventTypes.all()));
    let readKeys: Rereading | null = null;
    engine.onNews((news) => {
      api.hear(news);
      if (news.kind === "missed" || news.kind === "event_types") readTypes.ask();
      if (news.kind === "missed" || news.kind === "operator_keys") readKeys?.ask();
    });
    // The public listener starts first; the admin listener is loaded after it.
    const publicListening = api.listen();
    const engineStarted = engine.start();
    const { adminApp } = await import("./http/admin/app.ts");
    const { AuditTrail } = await import("./http/admin/operations/audit-trail.ts");
    const { OperatorKeys } = await import("./http/admin/operator-keys.ts");
    await engineStarted;
    const { store, ranking, traffic, publicUrl } = api;
    const operatorKeys = new OperatorKeys({
      store,
      now,
      environment: config.adminKey,
      isCurrent: api.isCurrent,
    });
    readKeys = rereading(() => operatorKeys.load());
    await operatorKeys.load();
    const data = platformData({ store, ranking, now, follower: api.follower });
    const eventLoop = watchEventLoop();
    const trail = new AuditTrail({ store, log, now });
    let adminUrl = "";
    let watch: CertificateWatch | null = null;
    let phase: "starting" | "serving" | "stopping" = "starting";
    const admin = adminApp({
      store,
      catalogue,
      engine,
      data,
      publisher,
      backups,
      cursors: new Cursors(cursorKey),
      log,
      now,
      operatorKeys,
      outcomes,
      facts: {
        get settings() {
          return shown();
        },
        startedAt: now(),
        get subscriptionLimit() {
          return config.subscriptionLimit;
        },
        rateLimit: api.rateLimit,
        storage: () => ("directory" in place ? sizesOf(place.directory) : null),
        watched: {
          database: "directory" in place ? "sqlite" : "postgresql",
          logBytes: () => ("directory" in place ? logBytesOf(place.directory) : null),
          openStreams: api.openStreams,
          certificates: () => watch?.expiries() ?? [],
          eventLoopDelay: eventLoop.delay,
          spans: () => tracing?.counts() ?? noSpans,
        },
      },
      trail,
      hosts: [config.adminHost, ...config.adminHosts],
      wrongKeyLimit: options.wrongKeyLimit,
      allowPrivateWebhooks: config.allowPrivateWebhooks,
      trustedProxies: trustedProxies(config.trustedProxies),
      async whyNotReady() {
        if (phase !== "serving") return `The server is ${phase}`;
        await storage.look();
        return storage.problem;
      },
      publicTraffic: traffic,
      traffic: new Traffic("admin", counter, tracing?.requestsOf(true)),
      publicUrl,
      adminUrl: () => adminUrl,
    });
    const adminListening = listen(admin, {
      hostname: config.adminHost,
      port: config.adminPort,
      certificate: certificates.admin,
    });
    started.push(adminListening);
    adminUrl = adminListening.url;
    const { keyFile, settleOperatorKeys } = await import("./first-key.ts");
    const inFile = "directory" in place ? keyFile(place.directory, log) : null;
    const show = options.showAdminKey ?? inFile;
    await settleOperatorKeys({ store, operatorKeys, show, now, log });
    const services = supervise(
      [
        storingStatistics(counter, store, log),
        ...("directory" in place ? [samplingSizes(place.directory, store, now)] : []),
        repeating("backups", backupLookMs, () => backups.look()),
      ],
      log,
    );
    const redirect = await redirectOf(config);
    if (redirect) started.push(redirect);
    const certificateWatch = watchCertificates(
      [
        ...watchedListener("public", files.public, certificates.public, publicListening),
        ...watchedListener("admin", files.admin, certificates.admin, adminListening),
      ],
      { log, now },
    );
    watch = certificateWatch;
    phase = "serving";
    storage.start(engine.checkStorage, (type, data) => void engine.notify(type, data));

    return {
      publicUrl: publicListening.url,
      adminUrl,
      store,
      data,
      engine,
      publisher,
      backups,
      redirectPort: redirect?.port ?? null,
      certificates: certificateWatch,
      reload,
      async stop() {
        phase = "stopping";
        // Gives load balancers time to notice that the server is not ready.
        await Bun.sleep(config.drainDelay * second);
        storage.stop();
        certificateWatch.stop();
        eventLoop.stop();
        backups.stop();
        outcomes.close();
        readTypes.stop();
        readKeys?.stop();
        await Promise.all(started.map((one) => one.stop(drainMs)));
        await trail.flush();
        await services.stop();
        await engine.stop(drainMs);
        await tracing?.stop();
        await log.flush();
      },
    };
  } catch (error) {
    storage.stop();
    await Promise.all(started.map((one) => one.stop(0)));
    await engine.stop(0);
    throw error;
  }
}

/** The tracing of this thread, loaded where it is set. */
async function tracingOf(config: Config, log: Log) {
  const settings = collectorOf(config);
  if (!settings) return null;
  const { startRequestTracing } = await import("./tracing/requests.ts");
  return startRequestTracing(settings, log);
}

/** The listener that sends plain HTTP on, where one is set. */
async function redirectOf({ host: hostname, redirectPort: port, publicUrl: to }: Config) {
  if (port === null || to === null) return null;
  const { startRedirect } = await import("./http/redirect.ts");
  return startRedirect({ hostname, port, to });
}

/** The listener with its certificate, in a list; an empty one where it has none. */
function watchedListener(
  name: string,
  files: CertificateFiles | null,
  certificate: Certificate | null,
  listening: Listening,
) {
  if (!files || !certificate) return [];
  return [{ name, files, certificate, replace: (next: Certificate) => listening.replaceCertificate(next) }];
}

/** The program of a backup thread, named here for the same reason as the engine's. */
export const backupProgram = new URL("./backups/backup-worker.ts", import.meta.url).href;

export const databaseCheckProgram = new URL("./doctor/database-worker.ts", import.meta.url).href;

/** Starts the engine in a thread of its own, or in this one when a clock is injected. */
async function engineOf(options: AppOptions, onFault: StorageWatch["note"]): Promise<Engine> {
  const { config, log, now, steady, random = Math.random, attemptTimeoutMs } = options;
  const settings = engineSettings(config, attemptTimeoutMs);
  if (now) {
    const { startEngine } = await import("./engine/start.ts");
    return startEngine({ settings, log, now, steady: steady ?? now, random, onFault });
  }
  // Named here, because in the executable all modules but the entry points are one file in this directory.
  const program = new URL("./engine/worker.ts", import.meta.url).href;
  return startEngineThread({
    program,
    settings,
    logLevel: config.logLevel,
    log,
    onFault,
    failed: exitOnFailure(log),
  });
}

/** Ends the process after the loss of a part that requests or deliveries need; the service manager restarts it. */
function exitOnFailure(log: Log): () => void {
  return () => void log.flush().then(() => process.exit(1));
}
