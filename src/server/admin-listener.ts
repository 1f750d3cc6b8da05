import { AuditTrail } from "../api/admin/audit-trail.ts";
import type { AdminDeps } from "../api/admin/listener.ts";
import { keyFile, settleOperatorKeys } from "../api/admin/operator-keys.ts";
import { findingsWatch } from "../api/admin/server.ts";
import { adminApp } from "../api/admin.ts";
import { Traffic } from "../api/http/context.ts";
import type { BackupKeeper } from "../operations/backups/open-backups.ts";
import { hourlyKinds, logBytesOf, sizesOf } from "../operations/storage.ts";
import { platformData } from "../platform/platform-data.ts";
import { createPublisher } from "../platform/publisher.ts";
import { trustedProxies } from "../runtime/client-address.ts";
import { noSpans } from "../runtime/tracing/collector.ts";
import { databaseCheckProgram } from "../thread-programs.ts";
import type { Core } from "./core.ts";
import { listenAs, type RunningPublic } from "./listeners.ts";
import type { Memory } from "./memory.ts";

/** Starts the admin listener and makes sure that there is an operator key. Throws if the port is taken. */
export async function startAdminListener(
  core: Core,
  memory: Memory,
  publicListener: RunningPublic,
  backups: BackupKeeper,
) {
  const { config, engine, log, now, storage, life, counter, tracing, options } = core;
  const { store, ranking, follower, catalogue, cursors, challenges, outcomes, operatorKeys, limiter } =
    memory;
  await operatorKeys.load();
  const data = platformData({
    store,
    ranking,
    now,
    follower,
    confirmAbovePercent: config.confirmSnapshotAbove,
  });
  const { timeToLive } = config;
  const traces = tracing?.publishing ?? null;
  const publisher = createPublisher(engine, { now, catalogue, timeToLive, traces });
  const trail = new AuditTrail({ store, log, now, changed: (topic) => outcomes.changed(topic) });
  const findings = findingsOf(core);
  let adminUrl = "";
  const app = adminApp({
    store,
    engine,
    data,
    publisher,
    backups,
    catalogue,
    cursors,
    challenges,
    log,
    now,
    operatorKeys,
    outcomes,
    facts: factsOf(core, memory, publicListener),
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
    traffic: {
      public: publicListener.traffic,
      admin: new Traffic("admin", counter, tracing?.requestsOf(true)),
    },
    publicUrl: publicListener.publicUrl,
    adminUrl: () => adminUrl,
  });
  const listening = listenAs("admin", app, core);
  // Waits for requests in flight, and writes their audit entries.
  core.listeners.add("admin listener", async (graceMs) => {
    await listening.stop(graceMs);
    await trail.flush();
  });
  adminUrl = listening.url;
  const inFile = "directory" in core.location ? keyFile(core.location.directory, log) : null;
  await settleOperatorKeys({ store, operatorKeys, show: options.showAdminKey ?? inFile, now, log });
  return {
    url: listening.url,
    data,
    publisher,
    /** Notifies open consoles if the findings have changed. */
    lookForFindings: findingsWatch(findings, outcomes),
  };
}

function factsOf(core: Core, { store, limiter }: Memory, { streams }: RunningPublic): AdminDeps["facts"] {
  const { config, now, location, tracing } = core;
  return {
    get settings() {
      return core.shown();
    },
    startedAt: now(),
    get subscriptionLimit() {
      return config.subscriptionLimit;
    },
    rateLimit: ({ id, rate_limit }) => limiter.look(id, rate_limit ?? config.rateLimit),
    storage: () => ("directory" in location ? sizesOf(location.directory) : null),
    kindSizes: hourlyKinds(async () => {
      if ("database" in location) return store.statistics.kindSizes();
      const { measuredSizes } = await import("../operations/checks/database.ts");
      return measuredSizes(databaseCheckProgram, location.directory);
    }, now),
    watched: {
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
function findingsOf({ config, now, options }: Core): AdminDeps["findings"] {
  const { env = {}, secretFiles = [] } = options;
  let running: Promise<AdminDeps["findings"]> | null = null;
  return async () => {
    running ??= import("../operations/checks/checks.ts").then(({ runningFindings }) =>
      runningFindings({ config, env, secretFiles, program: databaseCheckProgram, now }),
    );
    return (await running)();
  };
}
