import type { Engine } from "../delivery/engine.ts";
import { type CheckStorage, type Store, stalledAfterMs } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import type { BackupKeeper } from "../operations/backups/open-backups.ts";
import type { CertificateWatch } from "../operations/certificates.ts";
import type { PlatformData } from "../platform/platform-data.ts";
import type { Publisher } from "../platform/publisher.ts";
import { replicaNotificationHandler } from "../postgres/replica-notifications.ts";
import { Stops } from "../runtime/services.ts";
import { openBackupKeeper, startServices } from "./background.ts";
import { type AppOptions, openCore } from "./core.ts";
import { startPublicListener } from "./listeners.ts";
import { openMemory } from "./memory.ts";
import type { Config } from "./settings/config.ts";
import type { Reloaded } from "./settings/shown-settings.ts";

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
  readonly certificates: Pick<CertificateWatch, "look">;
  /** Reports not ready; after the drain delay waits for requests and attempts in flight, then closes everything. */
  stop(): Promise<void>;
}

const drainMs = 10 * second;

/**
 * Builds and starts a server: opens the data, starts the public listener, then loads and starts the admin listener.
 * Throws when the data or a port is not available, or a setting does not fit the data.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { log } = options;
  const stops = new Stops(log);
  try {
    const core = await openCore(options, stops);
    const { config, engine, storage, certificateWatch, life, listeners } = core;
    if (options.prepare) {
      await engine.started;
      await options.prepare(engine.store);
    }
    await requirePortalLogin(config, engine.store);
    const memory = await openMemory(core);
    const services = new Stops(log);
    stops.add("services", (graceMs) => services.stop(graceMs));
    stops.add("listeners", (graceMs) => listeners.stopTogether(graceMs));
    listeners.add("memory", () => memory.stop());
    const backups = await openBackupKeeper(core, memory);
    stops.add("backups", () => backups.stop());
    const publicListener = await startPublicListener(core, memory);
    const { streams } = publicListener;
    engine.listen({
      streamed: (applicationIds) => streams.wake(applicationIds),
      outcomes: (batches, changed) => memory.outcomes.take(batches, changed),
      replicaNotification: replicaNotificationHandler({ ...memory, streams, log }),
    });
    const { startAdminListener } = await import("./admin-listener.ts");
    await engine.started;
    const adminListener = await startAdminListener(core, memory, publicListener, backups);
    const redirect = await redirectOf(config);
    if (redirect) listeners.add("redirect", (graceMs) => redirect.stop(graceMs));
    const running = startServices(core, memory, backups, adminListener.lookForFindings);
    services.add("services", () => running.stop());
    life.phase = "serving";
    const check: CheckStorage = async (isTroubled) => {
      const fault = await engine.checkStorage(isTroubled);
      return fault ?? (adminListener.publisher.oldestMs > stalledAfterMs ? "stalled" : null);
    };
    storage.start(check, (type, data) => void engine.notify(type, data));

    return {
      publicUrl: publicListener.url,
      adminUrl: adminListener.url,
      store: memory.store,
      data: adminListener.data,
      engine,
      publisher: adminListener.publisher,
      backups,
      redirectPort: redirect?.port ?? null,
      certificates: certificateWatch,
      reload(settings) {
        const reloaded = core.reload(settings);
        memory.outcomes.changedHere("settings");
        return reloaded;
      },
      async stop() {
        life.phase = "stopping";
        // Gives load balancers time to notice that the server is not ready.
        await Bun.sleep(config.drainDelay * second);
        await stops.stop(drainMs);
        await log.flush();
      },
    };
  } catch (error) {
    await stops.stop(0);
    throw error;
  }
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

/** Starts the listener that redirects plain HTTP; returns null if the settings have none. */
async function redirectOf({ host: hostname, redirectPort: port, publicUrl: to }: Config) {
  if (port === null || to === null) return null;
  const { startRedirect } = await import("../api/http/server.ts");
  return startRedirect({ hostname, port, to });
}
