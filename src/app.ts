import { randomBytes } from "node:crypto";
import { type PlatformData, platformData } from "./batch/platform-data.ts";
import type { Config } from "./config.ts";
import { Catalogue } from "./domain/events/catalogue.ts";
import { eventTypeOf } from "./domain/events/registered.ts";
import { day, second } from "./domain/time.ts";
import { newSecret, secretHash } from "./domain/tokens.ts";
import { type Engine, signingKeySetting, startEngine } from "./engine/engine.ts";
import { startEngineThread } from "./engine/thread.ts";
import { adminApp } from "./http/admin/app.ts";
import { authenticator } from "./http/auth.ts";
import type { PlatformJwtReader } from "./http/platform-jwt.ts";
import { publicApp } from "./http/public/app.ts";
import { EventStreams } from "./http/public/event-streams.ts";
import { Profiles } from "./http/public/profiles.ts";
import { readyAnswers } from "./http/public/ready.ts";
import { StreamPositions } from "./http/public/stream-position.ts";
import { listenPublic } from "./http/public-listening.ts";
import { rateLimiter } from "./http/rate-limit.ts";
import { type Listening, listen, trafficOf } from "./http/server.ts";
import type { Log } from "./log.ts";
import { trustedProxies } from "./proxies.ts";
import { Cursors } from "./ranking/cursor.ts";
import { Ranking } from "./ranking/ranking.ts";
import type { Store } from "./store/store.ts";
import { createPublisher, type Publisher } from "./webhooks/publisher.ts";
import { publicKeyForms, readSigningKey } from "./webhooks/signature.ts";

/** A running server. */
export interface App {
  readonly publicUrl: string;
  readonly adminUrl: string;
  /** The operator key, where it was made by this start; it cannot be had again. */
  readonly newAdminKey: string | null;
  readonly store: Store;
  readonly data: PlatformData;
  readonly engine: Engine;
  readonly publisher: Publisher;
  /** Lets requests and attempts in flight finish for a while, then closes everything. */
  stop(): Promise<void>;
}

export interface AppOptions {
  readonly config: Config;
  readonly log: Log;
  /** Instead of the system's clock. */
  readonly now?: (() => number) | undefined;
  /** With `now`: a clock that nobody sets; the same one where it is left out. */
  readonly steady?: (() => number) | undefined;
  readonly random?: (() => number) | undefined;
}

const drainMs = 10 * second;

/** Builds everything from the settings and starts it. Throws when the data directory or a port cannot be had. */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, log, now } = options;
  const engine = await engineOf(options);
  const { store } = engine;
  const clock = now ?? Date.now;
  const listening: Listening[] = [];
  try {
    const ranking = await loadRanking(store, clock);
    const profiles = new Profiles();
    const usersChanged = (ids: readonly number[]) => profiles.forget(ids);
    const access = {
      authenticator: authenticator(store, clock, await jwtReader(config, store, clock)),
      limiter: rateLimiter(clock),
      defaultRateLimit: config.rateLimit,
    };
    const usersRemoved = () => access.authenticator.forget();
    const data = platformData({ store, ranking, now: clock, usersChanged, usersRemoved });
    const cursorKey = await setting(store, "cursor_key", () => randomBytes(32).toString("base64url"));
    const cursors = new Cursors(cursorKey);
    const { hash: adminKeyHash, newAdminKey } = await adminKey(store, config);
    const catalogue = await loadCatalogue(store);
    const publisher = createPublisher(engine, { now: clock, catalogue, timeToLive: config.timeToLive });
    for (const name of Object.keys(config.timeToLive)) {
      if (!catalogue.has(name)) log.warn("unknown_event_type", { setting: "time-to-live", name });
    }
    const signingKeyPem = (await store.settings.get(signingKeySetting)) ?? "";
    const { pem, standardWebhooks } = publicKeyForms(signingKeyPem);
    const streams = new EventStreams({
      store,
      authenticator: access.authenticator,
      positions: new StreamPositions(cursorKey),
      signingKey: readSigningKey(signingKeyPem),
      log,
      now: clock,
      limit: config.streamLimit,
      keptMs: Math.min(config.keepDeliveredDays, config.keepFailedDays, config.keepBodiesDays) * day,
    });
    let publicUrl = config.publicUrl ?? "";
    let adminUrl = "";
    let isReady = false;

    const api = publicApp({
      store,
      catalogue,
      engine,
      log,
      now: clock,
      ranking,
      profiles,
      trustedProxies: config.trustedProxies.length > 0 ? trustedProxies(config.trustedProxies) : null,
      cursors,
      access,
      defaultSubscriptionLimit: config.subscriptionLimit,
      streams,
      publicKey: { public_key: pem, standard_webhooks: standardWebhooks },
      publicUrl: () => publicUrl,
      loginUrl: config.loginUrl,
    });
    const admin = adminApp({
      store,
      catalogue,
      engine,
      data,
      publisher,
      cursors,
      authenticator: access.authenticator,
      log,
      now: clock,
      adminKeyHash,
      allowPrivateWebhooks: config.allowPrivateWebhooks,
      isReady: () => isReady,
      publicTraffic: trafficOf(api),
      publicUrl: () => publicUrl,
      adminUrl: () => adminUrl,
    });
    engine.onStreamed((applicationIds) => streams.wake(applicationIds));
    const ready = readyAnswers({ access, profiles, store, publicUrl: () => publicUrl }, ranking);
    const publicListening = listenPublic(api, config.host, config.port, { ready });
    listening.push(publicListening);
    publicUrl ||= publicListening.url;
    const adminListening = listen(admin, config.adminHost, config.adminPort);
    listening.push(adminListening);
    adminUrl = adminListening.url;
    isReady = true;

    return {
      publicUrl: publicListening.url,
      adminUrl: adminListening.url,
      newAdminKey,
      store,
      data,
      engine,
      publisher,
      async stop() {
        isReady = false;
        // A listener waits for the answers under way, and these would never end by themselves.
        streams.close();
        await Promise.all(listening.map((one) => one.stop(drainMs)));
        await engine.stop(drainMs);
        await log.flush();
      },
    };
  } catch (error) {
    await Promise.all(listening.map((one) => one.stop(0)));
    await engine.stop(0);
    throw error;
  }
}

/** Loaded only where it is used: that takes 13 ms, for which no start should wait. */
async function jwtReader(
  { jwksUrl, jwtIssuer, jwtAudience }: Config,
  store: Store,
  now: () => number,
): Promise<PlatformJwtReader | null> {
  if (jwksUrl === null || jwtIssuer === null || jwtAudience === null) return null;
  const { platformJwtReader } = await import("./http/platform-jwt.ts");
  return platformJwtReader({
    settings: { jwksUrl, issuer: jwtIssuer, audience: jwtAudience },
    store,
    now,
  });
}

/** In a thread of its own, except with a clock of one's own, which no other thread can read. */
function engineOf({ config, log, now, steady, random = Math.random }: AppOptions): Promise<Engine> {
  const { data, allowPrivateWebhooks, webhookProxy, logLevel } = config;
  const retention = {
    deliveredMs: config.keepDeliveredDays * day,
    failedMs: config.keepFailedDays * day,
    bodiesMs: config.keepBodiesDays * day,
  };
  const settings = { data, allowPrivateWebhooks, webhookProxy, retention };
  if (now) return startEngine({ settings, log, now, steady: steady ?? now, random });
  // Named from here, because in the executable all modules but the entry points are one file in this directory.
  const program = new URL("./engine/worker.ts", import.meta.url).href;
  // Nothing can be written or delivered any more: whoever runs this process is to start it again.
  const failed = () => void log.flush().then(() => process.exit(1));
  return startEngineThread({ program, settings, logLevel, log, failed });
}

/** The event types that are built in, and those that are registered. */
export async function loadCatalogue(store: Pick<Store, "eventTypes">): Promise<Catalogue> {
  const catalogue = new Catalogue();
  for (const type of await store.eventTypes.all()) catalogue.put(await eventTypeOf(type));
  return catalogue;
}

async function loadRanking(store: Store, now: () => number): Promise<Ranking> {
  const ranking = new Ranking(now);
  ranking.putCategories(await store.categories.all());
  ranking.putLive(await store.livestreams.all());
  return ranking;
}

/** A setting of the data directory, made at its first start. */
async function setting(store: Store, key: string, make: () => string): Promise<string> {
  const known = await store.settings.get(key);
  if (known !== null) return known;
  const made = make();
  await store.settings.put(key, made);
  return made;
}

async function adminKey(
  store: Store,
  config: Config,
): Promise<{ hash: Uint8Array; newAdminKey: string | null }> {
  if (config.adminKey !== null) return { hash: secretHash(config.adminKey), newAdminKey: null };
  const known = await store.settings.get("admin_key_hash");
  if (known !== null) return { hash: Buffer.from(known, "base64"), newAdminKey: null };
  const made = newSecret("onair_admin_");
  await store.settings.put("admin_key_hash", secretHash(made).toString("base64"));
  return { hash: secretHash(made), newAdminKey: made };
}
