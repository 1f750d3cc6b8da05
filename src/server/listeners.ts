import { authenticator } from "../api/http/access.ts";
import { Traffic } from "../api/http/context.ts";
import { endSilentConnections, watchDescriptors } from "../api/http/descriptors.ts";
import type { PageLook } from "../api/http/pages.ts";
import type { PlatformJwtReader } from "../api/http/platform-jwt.ts";
import { type Listening, listen, type ServedApp } from "../api/http/server.ts";
import { publicApp } from "../api/public.ts";
import { EventStreams, StreamSlots } from "../api/stream/streams.ts";
import { publicKeyForms, readSigningKey } from "../delivery/signature.ts";
import { type Store, signingKeySetting } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import type { Ranking } from "../platform/ranking.ts";
import { trustedProxies } from "../runtime/client-address.ts";
import { lazily } from "../runtime/lazily.ts";
import type { Core } from "./core.ts";
import type { Memory } from "./memory.ts";
import type { Config } from "./settings/config.ts";
import { keptMs } from "./settings/setting-values.ts";

/** Serves an app at the address in the settings, and renews its certificate. Throws if the port is taken. */
export function listenAs(name: "public" | "admin", app: ServedApp, core: Core): Listening {
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
  return listening;
}

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
  const { platformJwtReader } = await import("../api/http/platform-jwt.ts");
  return platformJwtReader({
    settings: { jwksUrl, issuer: jwtIssuer, audience: jwtAudience, appWithoutSub },
    store,
    now,
  });
}
