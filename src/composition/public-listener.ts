import type { Config } from "../config/config.ts";
import { keptMs } from "../config/setting-values.ts";
import { signingKeySetting } from "../data/stored-keys.ts";
import { second } from "../domain/time.ts";
import { authenticator } from "../http/auth.ts";
import type { PageLook } from "../http/pages/files.ts";
import type { PlatformJwtReader } from "../http/platform-jwt.ts";
import { publicApp } from "../http/public/app.ts";
import { EventStreams } from "../http/stream/event-streams.ts";
import { StreamSlots } from "../http/stream/stream-slots.ts";
import { Traffic } from "../http/traffic.ts";
import type { Ranking } from "../ranking/ranking.ts";
import { lazily } from "../runtime/lazily.ts";
import { trustedProxies } from "../serving/client-address.ts";
import { watchDescriptors } from "../serving/descriptor-watch.ts";
import { endSilentConnections } from "../serving/silent-connections.ts";
import type { Store } from "../store/store.ts";
import { publicKeyForms, readSigningKey } from "../webhooks/signature.ts";
import type { Core } from "./core.ts";
import { listenAs } from "./listen-as.ts";
import type { Memory } from "./memory.ts";

export type RunningPublic = Awaited<ReturnType<typeof startPublicListener>>;

/** Starts the public listener. Throws if the port is taken. */
export async function startPublicListener(core: Core, memory: Memory) {
  const { config, engine, log, now, counter, tracing } = core;
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
  const traffic = new Traffic("public", counter, tracing?.requestsOf(false));
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
    portal: portalLook(config),
    portalLogin: config.portalLogin,
    welcome: core.options.welcome ?? null,
  });
  const listening = listenAs("public", app, core);
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

/** Returns the appearance of the portal; null if it is off. */
function portalLook({ portal, portalName, portalAccent, portalLogo, portalLogin }: Config): PageLook | null {
  const logo = portalLogo === null ? null : Bun.file(portalLogo);
  return portal ? { title: portalName, accent: portalAccent, logo, hasLogin: portalLogin !== null } : null;
}

/** Returns the reader of the platform's tokens; null if they are not accepted. Loads the JWT library only if needed. */
async function jwtReader(
  { jwksUrl, jwtIssuer, jwtAudience, jwtAppWithoutSub: appWithoutSub }: Config,
  store: Store,
  now: () => number,
): Promise<PlatformJwtReader | null> {
  if (jwksUrl === null || jwtIssuer === null || jwtAudience === null) return null;
  const { platformJwtReader } = await import("../http/platform-jwt.ts");
  return platformJwtReader({
    settings: { jwksUrl, issuer: jwtIssuer, audience: jwtAudience, appWithoutSub },
    store,
    now,
  });
}
