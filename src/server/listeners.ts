import type { AdminDeps } from "../api/admin/listener.ts";
import { keyFile, settleOperatorKeys } from "../api/admin/operator-keys.ts";
import { authenticator } from "../api/http/access.ts";
import { Traffic } from "../api/http/context.ts";
import { endSilentConnections, watchDescriptors } from "../api/http/descriptors.ts";
import type { PageLook } from "../api/http/pages.ts";
import type { PlatformJwtReader } from "../api/http/platform-jwt.ts";
import { type Listening, listen, listenProblem, type ServedApp, startRedirect } from "../api/http/server.ts";
import { publicApp } from "../api/public.ts";
import { EventStreams, StreamSlots } from "../api/stream/streams.ts";
import { publicKeyForms, readSigningKey } from "../delivery/signature.ts";
import { messageOf } from "../domain/errors.ts";
import { type Store, signingKeySetting } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import type { BackupKeeper } from "../operations/backups/backups.ts";
import { hourlyKinds, logBytesOf, sizesOf } from "../operations/storage-health.ts";
import type { Ranking } from "../platform/ranking.ts";
import { trustedProxies } from "../runtime/client-address.ts";
import { lazily } from "../runtime/lazily.ts";
import { noSpans } from "../runtime/tracing.ts";
import { databaseCheckProgram } from "../thread-programs.ts";
import type { Core } from "./core.ts";
import type { Memory } from "./memory.ts";
import type { Config } from "./settings/config.ts";
import { keptMs } from "./settings/setting-values.ts";
import { databaseAt } from "./storage-at.ts";

/*
 * The listeners of a server: the public one, the admin one, and the one that redirects plain HTTP.
 */

/**
 * Serves an app at the address in the settings, and renews its certificate. Throws if the port is taken; the error of
 * the public listener, which is opened first, also names a taken admin port.
 */
function openListener(name: "public" | "admin", app: ServedApp, core: Core): Listening {
  const { config, certificateWatch } = core;
  const certificate = core.certificates[name];
  const { host, port, adminHost, adminPort } = config;
  const ofAdmin = { hostname: adminHost, port: adminPort, portOption: "--admin-port" };
  const address = name === "public" ? { hostname: host, port, portOption: "--port" } : ofAdmin;
  let listening: Listening;
  try {
    listening = listen(app, { ...address, certificate });
  } catch (error) {
    const other = name === "public" ? listenProblem(adminHost, adminPort, ofAdmin.portOption) : null;
    throw other === null ? error : new Error(`${messageOf(error)}\n${other}`, { cause: error });
  }
  const replace = listening.replaceCertificate;
  if (certificate) certificateWatch.add({ name, certificate, replace });
  core.listening.push(listening);
  return listening;
}

type RunningPublic = Awaited<ReturnType<typeof startPublicListener>>;

/** Starts the public listener. Throws if the port is taken. */
export async function startPublicListener(core: Core, memory: Memory) {
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
export async function startAdminListener(
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
export function startRedirectListener({ config, listeners }: Core): number | null {
  const { host: hostname, redirectPort: port, publicUrl: to } = config;
  if (port === null || to === null) return null;
  const redirect = startRedirect({ hostname, port, to });
  listeners.add("redirect", (graceMs) => redirect.stop(graceMs));
  return redirect.port;
}
