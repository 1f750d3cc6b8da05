import type { Config } from "../config/config.ts";
import { keptMs } from "../config/setting-values.ts";
import { signingKeySetting } from "../data/stored-keys.ts";
import { second } from "../domain/time.ts";
import { authenticator } from "../http/auth.ts";
import type { PageLook } from "../http/pages/files.ts";
import type { PlatformJwtReader } from "../http/platform-jwt.ts";
import { publicApp } from "../http/public/app.ts";
import { EventStreams } from "../http/stream/event-streams.ts";
import { StreamPlaces } from "../http/stream/stream-places.ts";
import { Traffic } from "../http/traffic.ts";
import type { Ranking } from "../ranking/ranking.ts";
import { lazily } from "../runtime/lazily.ts";
import { trustedProxies } from "../serving/client-address.ts";
import type { Store } from "../store/store.ts";
import { publicKeyForms, readSigningKey } from "../webhooks/signature.ts";
import type { Core } from "./core.ts";
import { listenAs } from "./listen-as.ts";
import type { Memory } from "./memory.ts";

export type RunningPublic = Awaited<ReturnType<typeof startPublicListener>>;

/** Starts to accept connections. Throws when the port is taken. */
export async function startPublicListener(core: Core, memory: Memory) {
  const { config, engine, log, now, counter, tracing } = core;
  const { store, callers, limiter, ranking, catalogue, cursors, outcomes } = memory;
  const access = {
    authenticator: authenticator(store, now, await jwtReader(config, store, now), callers),
    limiter,
    get defaultRateLimit() {
      return config.rateLimit;
    },
  };
  const signingKey = (await store.settings.get(signingKeySetting)) ?? "";
  // Read on first use, because loading node:crypto delays the first answer.
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
    places: new StreamPlaces(() => config.streamLimit),
    keptMs: shortestKeptMs(config),
    isTrimmed: config.maxDataSize !== null,
  });
  tellOfRanking(ranking, () => outcomes.changedHere("ranking"));
  const traffic = new Traffic("public", counter, tracing?.requestsOf(false));
  let url = config.publicUrl ?? "";
  const app = publicApp({
    store,
    catalogue,
    engine,
    log,
    now,
    ranking,
    trustedProxies: config.trustedProxies.length > 0 ? trustedProxies(config.trustedProxies) : null,
    traffic,
    cursors,
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
  url ||= listening.url;
  return {
    /** Where it listens. */
    url: listening.url,
    /** Where it is reached from outside, without a trailing slash. */
    publicUrl: () => url,
    traffic,
    streams,
    /** Ends event streams and waits up to `graceMs` for requests in flight. */
    async stop(graceMs: number) {
      // The listener waits for open answers, and a stream does not end by itself.
      streams.close();
      await listening.stop(graceMs);
    },
  };
}

/** The time after which a delivery may be gone, whatever became of it. */
function shortestKeptMs(config: Config): number {
  const { keepDeliveredDays, keepFailedDays, keepBodiesDays, keepByType } = config;
  const times = [keepDeliveredDays, keepFailedDays, keepBodiesDays, ...Object.values(keepByType)];
  return Math.min(...times.map(keptMs));
}

/** The time from a change of the ranking to its message; longer than the ranking needs to show it. */
const rankingEveryMs = 2 * second;

function tellOfRanking(ranking: Ranking, tell: () => void): void {
  let isToTell = false;
  ranking.onChanged(() => {
    if (isToTell) return;
    isToTell = true;
    const tellNow = () => {
      isToTell = false;
      tell();
    };
    setTimeout(tellNow, rankingEveryMs).unref();
  });
}

/** How the portal presents itself; null where it is switched off. */
function portalLook({ portal, portalName, portalAccent, portalLogo, portalLogin }: Config): PageLook | null {
  const logo = portalLogo === null ? null : Bun.file(portalLogo);
  return portal ? { title: portalName, accent: portalAccent, logo, hasLogin: portalLogin !== null } : null;
}

/** Loads the JWT library only when the platform's tokens are accepted. */
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
