import type { Engine } from "../delivery/engine.ts";
import { storingRequests, storingStatistics } from "../delivery/maintenance.ts";
import { type CheckStorage, dataIdOf, heldSetting, type Store, stalledAfterMs } from "../domain/store.ts";
import { minute, second } from "../domain/time.ts";
import {
  type BackupKeeper,
  backupCheckMs,
  externalBackups,
  openBackups,
} from "../operations/backups/backups.ts";
import type { CertificateWatch } from "../operations/certificates.ts";
import { samplingSizes } from "../operations/storage-health.ts";
import type { PlatformData } from "../platform/platform-data.ts";
import type { Publisher } from "../platform/publisher.ts";
import { repeating, Stops, supervise } from "../runtime/services.ts";
import { backupProgram } from "../thread-programs.ts";
import { type AppOptions, type Core, openCore, type Reloaded } from "./core.ts";
import { startAdminListener, startPublicListener, startRedirectListener } from "./listeners.ts";
import { loadRanking, type Memory, openMemory } from "./memory.ts";
import type { Config } from "./settings/config.ts";
import { databaseAt } from "./storage-at.ts";

/*
 * The start of a server: settings and data, the engine, the data in memory, the two listeners, the services; and its
 * end. Each stage adds what it starts to `Stops`.
 */

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
