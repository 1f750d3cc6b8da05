import { PlatformFollower } from "../../batch/platform-follower.ts";
import type { Config } from "../../config/config.ts";
import { keptMs } from "../../config/setting-values.ts";
import type { WelcomeSource } from "../../console/session.ts";
import type { Application } from "../../domain/applications.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import type { StatisticCounter } from "../../domain/operations/statistics.ts";
import { second } from "../../domain/time.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Log } from "../../log/log.ts";
import { PastOrders } from "../../ranking/past-orders.ts";
import { Ranking } from "../../ranking/ranking.ts";
import { SharedOrders } from "../../ranking/shared-orders.ts";
import { lazily } from "../../runtime/lazily.ts";
import type { Certificate } from "../../serving/certificates.ts";
import { trustedProxies } from "../../serving/client-address.ts";
import type { Store } from "../../store/store.ts";
import type { RequestTraces } from "../../tracing/requests.ts";
import { publicKeyForms, readSigningKey } from "../../webhooks/signature.ts";
import { authenticator } from "../auth.ts";
import { Changes } from "../changes.ts";
import { Cursors } from "../cursors.ts";
import { invalidatingStore } from "../invalidating-store.ts";
import type { PageLook } from "../pages/files.ts";
import type { PlatformJwtReader } from "../platform-jwt.ts";
import { rateLimiter } from "../rate-limit.ts";
import { RateShares } from "../replicas/rate-shares.ts";
import { newsHearer } from "../replicas/replica-news.ts";
import { type Listening, listen } from "../server.ts";
import { EventStreams } from "../stream/event-streams.ts";
import type { OutcomeStreams } from "../stream/outcome-streams.ts";
import { StreamPlaces } from "../stream/stream-places.ts";
import { Traffic } from "../traffic.ts";
import { publicApp } from "./app.ts";

interface PublicServerOptions {
  /** Limits are read anew for each request. */
  readonly config: Config;
  /** The key of cursors and stream ids. */
  readonly cursorKey: string;
  /** The platform's Ed25519 key, in PEM. */
  readonly signingKey: string;
  readonly engine: Pick<Engine, "store" | "test" | "enable" | "onStreamed" | "broadcast">;
  /** Whether other processes may serve the same data. */
  readonly isReplica: boolean;
  readonly catalogue: Catalogue;
  readonly log: Log;
  readonly outcomes: Pick<OutcomeStreams, "open" | "changed" | "changedHere" | "receive">;
  /** Counts requests by operation. */
  readonly counter?: StatisticCounter;
  /** By default nothing is traced. */
  readonly traces?: RequestTraces | null;
  readonly now: () => number;
  /** By default the listener speaks plain HTTP. */
  readonly certificate?: Certificate | null;
  /** The first page of a server for development; by default there is none. */
  readonly welcome?: WelcomeSource | undefined;
}

/** The time from a change of the ranking to its message; longer than the ranking needs to show it. */
const rankingEveryMs = 2 * second;

/** Creates the public listener with its caches, which are updated before a change is acknowledged. */
export async function publicServer(options: PublicServerOptions) {
  const { config, cursorKey, engine, catalogue, log, now } = options;
  const callers = new Changes();
  // Until it hears of changes elsewhere.
  if (options.isReplica) callers.useUntil(Number.NEGATIVE_INFINITY);
  const store = invalidatingStore(engine.store, callers);
  const access = {
    authenticator: authenticator(store, now, await jwtReader(config, store, now), callers),
    limiter: rateLimiter(
      now,
      options.isReplica ? new RateShares((shares) => engine.broadcast({ kind: "taken", shares })) : null,
    ),
    get defaultRateLimit() {
      return config.rateLimit;
    },
  };
  const sharedOrders = options.isReplica ? new SharedOrders(store.orders, now) : null;
  const ranking = new Ranking(now, new PastOrders(), sharedOrders);
  const follower = options.isReplica ? new PlatformFollower(store, ranking) : null;
  ranking.putCategories(await store.categories.all());
  ranking.putLive(await store.livestreams.all());
  const traffic = new Traffic("public", options.counter ?? null, options.traces);
  // Read on first use, because loading node:crypto delays the first answer.
  const keys = lazily({
    signing: () => readSigningKey(options.signingKey),
    public: () => publicKeyForms(options.signingKey),
  });
  const cursors = new Cursors(cursorKey);
  const streams = new EventStreams({
    store,
    authenticator: access.authenticator,
    cursors,
    signingKey: () => keys.signing,
    log,
    now,
    places: new StreamPlaces(() => config.streamLimit),
    keptMs: Math.min(
      ...[config.keepDeliveredDays, config.keepFailedDays, config.keepBodiesDays].map(keptMs),
      ...Object.values(config.keepByType).map(keptMs),
    ),
    isTrimmed: config.maxDataSize !== null,
  });
  engine.onStreamed((applicationIds) => streams.wake(applicationIds));
  let isToTell = false;
  ranking.onChanged(() => {
    if (isToTell) return;
    isToTell = true;
    const tell = () => {
      isToTell = false;
      options.outcomes.changedHere("ranking");
    };
    setTimeout(tell, rankingEveryMs).unref();
  });
  let url = config.publicUrl ?? "";
  let listening: Listening | null = null;
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
    outcomes: options.outcomes,
    publicKey: () => keys.public,
    publicUrl: () => url,
    loginUrl: config.loginUrl,
    portal: portalLook(config),
    portalLogin: config.portalLogin,
    welcome: options.welcome ?? null,
  });
  return {
    ranking,
    /** null where no other process serves the same data. */
    follower,
    /** Whether it is known what other replicas have changed. */
    isCurrent: () => callers.isCurrent,
    /** Takes in what other replicas have done. */
    hear: newsHearer({
      callers,
      limiter: access.limiter,
      ranking,
      follower,
      streams,
      outcomes: options.outcomes,
      log,
    }),
    /** The engine's store, wrapped by `invalidatingStore`. */
    store,
    traffic,
    /** Limits over all replicas. */
    limiter: access.limiter,
    /** What is left of the rate limit of an application; null: it is unlimited. */
    rateLimit: ({ id, rate_limit }: Application) => access.limiter.look(id, rate_limit ?? config.rateLimit),
    /** The external URL, without a trailing slash. */
    publicUrl: () => url,
    openStreams: () => streams.count,
    /** Starts to accept connections. Throws when the port is taken. */
    listen() {
      const { host: hostname, port } = config;
      listening = listen(app, { hostname, port, certificate: options.certificate ?? null });
      url ||= listening.url;
      return listening;
    },
    /** Ends event streams and waits up to `graceMs` for requests in flight. */
    async stop(graceMs: number) {
      // The listener waits for open answers, and a stream does not end by itself.
      streams.close();
      follower?.stop();
      await listening?.stop(graceMs);
    },
  };
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
  const { platformJwtReader } = await import("../platform-jwt.ts");
  return platformJwtReader({
    settings: { jwksUrl, issuer: jwtIssuer, audience: jwtAudience, appWithoutSub },
    store,
    now,
  });
}
