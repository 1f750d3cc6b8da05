import { randomBytes } from "node:crypto";
import { type PlatformData, platformData } from "./batch/platform-data.ts";
import type { Config } from "./config.ts";
import { hour, second } from "./domain/time.ts";
import { newSecret, secretHash } from "./domain/tokens.ts";
import { adminApp } from "./http/admin/app.ts";
import { authenticator } from "./http/auth.ts";
import type { PlatformJwtReader } from "./http/platform-jwt.ts";
import { publicApp } from "./http/public/app.ts";
import { Profiles } from "./http/public/profiles.ts";
import { readyAnswers } from "./http/public/ready.ts";
import { rateLimiter } from "./http/rate-limit.ts";
import { type Listening, listen } from "./http/server.ts";
import type { Log } from "./log.ts";
import { trustedProxies } from "./proxies.ts";
import { Cursors } from "./ranking/cursor.ts";
import { Ranking } from "./ranking/ranking.ts";
import { openStore } from "./store/sqlite/store.ts";
import type { Store } from "./store/store.ts";
import { repeating, supervise } from "./supervisor.ts";
import { version } from "./version.ts";
import { createDispatcher, type Dispatcher } from "./webhooks/dispatcher.ts";
import { createPublisher, type Publisher } from "./webhooks/publisher.ts";
import { createSender } from "./webhooks/sender.ts";
import { newSigningKey, publicKeyForms, readSigningKey } from "./webhooks/signature.ts";

/** A running server. */
export interface App {
  readonly publicUrl: string;
  readonly adminUrl: string;
  /** The operator key, where it was made by this start; it cannot be had again. */
  readonly newAdminKey: string | null;
  readonly store: Store;
  readonly data: PlatformData;
  readonly dispatcher: Dispatcher;
  readonly publisher: Publisher;
  /** Lets requests and attempts in flight finish for a while, then closes everything. */
  stop(): Promise<void>;
}

export interface AppOptions {
  readonly config: Config;
  readonly log: Log;
  readonly now?: () => number;
  readonly random?: () => number;
}

const drainMs = 10 * second;

/** Builds everything from the settings and starts it. Throws when the data directory or a port cannot be had. */
export async function startApp({
  config,
  log,
  now = Date.now,
  random = Math.random,
}: AppOptions): Promise<App> {
  const store = openStore(config.data);
  const listening: Listening[] = [];
  try {
    const ranking = await loadRanking(store, now);
    const profiles = new Profiles();
    const usersChanged = (ids: readonly number[]) => profiles.forget(ids);
    const access = {
      authenticator: authenticator(store, now, await jwtReader(config, store, now)),
      limiter: rateLimiter(now),
      defaultRateLimit: config.rateLimit,
    };
    const usersRemoved = () => access.authenticator.forget();
    const data = platformData({ store, ranking, now, usersChanged, usersRemoved });
    const signingKeyPem = await setting(store, "signing_key", newSigningKey);
    const cursorKey = await setting(store, "cursor_key", () => randomBytes(32).toString("base64url"));
    const { hash: adminKeyHash, newAdminKey } = await adminKey(store, config);
    const allowPrivate = config.allowPrivateWebhooks;
    const sender = createSender({ allowPrivate, userAgent: `onair/${version}`, now });
    const signingKey = readSigningKey(signingKeyPem);
    const dispatcher = createDispatcher({
      store: { applications: receivingOnly(store), deliveries: store.deliveries },
      sender,
      signingKey,
      log,
      now,
      random,
    });
    const publisher = createPublisher(store, dispatcher, now);
    const { pem, standardWebhooks } = publicKeyForms(signingKeyPem);
    let publicUrl = config.publicUrl ?? "";
    let adminUrl = "";
    let isReady = false;

    const api = publicApp({
      store,
      log,
      now,
      ranking,
      profiles,
      trustedProxies: config.trustedProxies.length > 0 ? trustedProxies(config.trustedProxies) : null,
      cursors: new Cursors(cursorKey),
      access,
      defaultSubscriptionLimit: config.subscriptionLimit,
      publicKey: { public_key: pem, standard_webhooks: standardWebhooks },
      publicUrl: () => publicUrl,
      loginUrl: config.loginUrl,
    });
    const admin = adminApp({
      store,
      data,
      publisher,
      authenticator: access.authenticator,
      log,
      now,
      adminKeyHash,
      allowPrivateWebhooks: allowPrivate,
      isReady: () => isReady,
      publicUrl: () => publicUrl,
      adminUrl: () => adminUrl,
    });
    const ready = readyAnswers({ access, profiles }, ranking);
    const publicListening = listen(api, config.host, config.port, ready);
    listening.push(publicListening);
    publicUrl ||= publicListening.url;
    const adminListening = listen(admin, config.adminHost, config.adminPort);
    listening.push(adminListening);
    adminUrl = adminListening.url;

    const services = supervise(
      [
        { name: "dispatcher", run: (signal) => dispatcher.run(signal) },
        repeating("expired tokens", hour, async () => void (await store.tokens.removeExpired(now()))),
        repeating("idempotency keys", hour, async () => {
          await store.idempotency.removeExpired(now());
        }),
      ],
      log,
    );
    isReady = true;

    return {
      publicUrl: publicListening.url,
      adminUrl: adminListening.url,
      newAdminKey,
      store,
      data,
      dispatcher,
      publisher,
      async stop() {
        isReady = false;
        await Promise.all(listening.map((one) => one.stop(drainMs)));
        const cutOff = setTimeout(() => sender.close(), drainMs);
        await services.stop();
        clearTimeout(cutOff);
        sender.close();
        await store.close();
        await log.flush();
      },
    };
  } catch (error) {
    await Promise.all(listening.map((one) => one.stop(0)));
    await store.close();
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

/** The applications as the dispatcher sees them: one that is disabled, or has no URL, is to it as one that is gone. */
function receivingOnly({ applications }: Store): Store["applications"] {
  return {
    ...applications,
    async find(id) {
      const application = await applications.find(id);
      return application?.disabled || application?.webhook_url === null ? null : application;
    },
  };
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
