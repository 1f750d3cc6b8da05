import type { Config } from "../../config.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import { lazily } from "../../domain/lazily.ts";
import { day } from "../../domain/time.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Log } from "../../log.ts";
import { trustedProxies } from "../../proxies.ts";
import type { RankingView } from "../../ranking/ranking.ts";
import type { Store } from "../../store/store.ts";
import { publicKeyForms, readSigningKey } from "../../webhooks/signature.ts";
import type { Tally } from "../../wire/tally.ts";
import { authenticator } from "../auth.ts";
import { Changes } from "../changes.ts";
import { Cursors } from "../cursors.ts";
import { notedStore } from "../noted-store.ts";
import type { PlatformJwtReader } from "../platform-jwt.ts";
import { listenPublic } from "../public-listening.ts";
import { rateLimiter } from "../rate-limit.ts";
import type { Listening } from "../server.ts";
import { Traffic } from "../traffic.ts";
import { publicApp } from "./app.ts";
import { connectionsOf } from "./connections.ts";
import { EventStreams } from "./event-streams.ts";
import type { PublicMemory } from "./memory.ts";
import { Profiles } from "./profiles.ts";
import { readyAnswers } from "./ready.ts";
import type { StreamPlaces } from "./stream-places.ts";
import { profileReader } from "./users.ts";

/** Settings of the public listener, which can be sent to another thread; without those that are not its business. */
export type PublicSettings = Omit<Config, "adminKey" | "webhookProxy"> & {
  /** Encrypts cursors and the ids of streams. */
  readonly cursorKey: string;
  /** The platform's Ed25519 key, in PEM. */
  readonly signingKey: string;
};

export function publicSettings(config: Config, cursorKey: string, signingKey: string): PublicSettings {
  const { adminKey, webhookProxy, ...rest } = config;
  return { ...rest, cursorKey, signingKey };
}

export interface PublicServerOptions {
  readonly settings: PublicSettings;
  readonly engine: Pick<Engine, "store" | "test" | "onStreamed">;
  readonly ranking: RankingView;
  readonly catalogue: Catalogue;
  readonly memory: PublicMemory;
  readonly traffic?: Traffic | undefined;
  readonly tally?: Tally | undefined;
  /** How many threads serve the listener together. */
  readonly threads: number;
  readonly places: StreamPlaces;
  readonly log: Log;
  readonly now: () => number;
}

/** The public listener as one thread serves it. */
export interface PublicServer {
  /** The engine's, with every change noted of what remembered callers are made of. */
  readonly store: Store;
  /** Where it is reached from outside, without a trailing slash. */
  readonly publicUrl: string;
  /** Begins to accept connections, on the port of the settings if not on another. Throws when it is taken. */
  listen(options?: { readonly port?: number; readonly reusePort?: boolean }): Listening;
  /** Ends event streams, and lets requests in flight finish for up to `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** Makes everything by which one thread answers the requests of the public listener. */
export async function publicServer(options: PublicServerOptions): Promise<PublicServer> {
  const { settings, engine, ranking, catalogue, memory, traffic = new Traffic(), places, log, now } = options;
  const proxies = settings.trustedProxies.length > 0 ? trustedProxies(settings.trustedProxies) : null;
  const callers = new Changes(memory.callers);
  const store = notedStore(engine.store, callers);
  const readJwt = await jwtReader(settings, store, now);
  const access = {
    authenticator: authenticator(store, now, readJwt, callers),
    limiter: rateLimiter(now, memory.limits),
    defaultRateLimit: settings.rateLimit,
  };
  // Read when they are first needed, because with node:crypto that takes 6 ms.
  const keys = lazily({
    signing: () => readSigningKey(settings.signingKey),
    public: () => publicKeyForms(settings.signingKey),
  });
  const cursors = new Cursors(settings.cursorKey);
  const streams = new EventStreams({
    store,
    authenticator: access.authenticator,
    cursors,
    signingKey: () => keys.signing,
    log,
    now,
    places,
    keptMs: Math.min(settings.keepDeliveredDays, settings.keepFailedDays, settings.keepBodiesDays) * day,
  });
  engine.onStreamed((applicationIds) => streams.wake(applicationIds));
  let publicUrl = settings.publicUrl ?? "";
  const read = profileReader({ store, publicUrl: () => publicUrl });
  const profiles = new Profiles({ read, changes: new Changes(memory.users) });
  let listening: Listening | null = null;
  const app = publicApp({
    store,
    catalogue,
    engine,
    log,
    now,
    ranking,
    profiles,
    trustedProxies: proxies,
    traffic,
    cursors,
    access,
    defaultSubscriptionLimit: settings.subscriptionLimit,
    streams,
    publicKey: () => keys.public,
    publicUrl: () => publicUrl,
    loginUrl: settings.loginUrl,
  });
  const ready = readyAnswers({ access, profiles }, ranking);
  const crowd = connectionsOf({ ...options, trustedProxies: proxies });
  return {
    store,
    get publicUrl() {
      return publicUrl;
    },
    listen({ port = settings.port, reusePort = false } = {}) {
      listening = listenPublic(app, settings.host, port, { ready, reusePort, crowd });
      publicUrl ||= listening.url;
      return listening;
    },
    async stop(graceMs) {
      // A listener waits for the answers under way, and these would never end by themselves.
      streams.close();
      await listening?.stop(graceMs);
    },
  };
}

/** Loaded only where it is used: that takes 13 ms, for which no start should wait. */
async function jwtReader(
  { jwksUrl, jwtIssuer, jwtAudience, jwtAppWithoutSub: appWithoutSub }: PublicSettings,
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
