import { newWebhookSecret } from "../delivery/signature.ts";
import { type NewApplication, secretPrefix, usesOnlyStream } from "../domain/applications.ts";
import type { Store } from "../domain/store.ts";
import { isoTime, second } from "../domain/time.ts";
import { appTokenLifetimeMs, scopes, secretHash } from "../domain/tokens.ts";
import { urlOf } from "../runtime/client-address.ts";
import type { Log } from "../runtime/log.ts";
import { supervise } from "../runtime/services.ts";
import type { Terminal } from "../runtime/terminal.ts";
import type { Config } from "../server/settings/config.ts";
import { type App, startApp } from "../server/start.ts";
import type { WelcomeFacts } from "../web/session.ts";
import { activity } from "./activity.ts";
import type { Random } from "./chance.ts";
import { type DevCredentials, saveCredentials } from "./credentials.ts";
import { type FaultPlan, startFaultInjection } from "./faults.ts";
import { isReceiverUrl, startReceiver } from "./receiver.ts";
import { type SampleData, sampleData } from "./sample-data.ts";
import { isSampleRedirectUri, type SignIn, startSignIn } from "./sign-in.ts";

interface DevPlatformOptions {
  readonly config: Config;
  readonly credentials: DevCredentials;
  /** Whether to generate events. */
  readonly events: boolean;
  readonly terminal: Terminal;
  readonly log: Log;
  readonly now: () => number;
  readonly random: Random;
  /** The ports of the receiver and of the sign-in; null for free ones. */
  readonly ports?: { readonly receiver: number | null; readonly signIn: number | null };
  /** The faults to inject; null for none. */
  readonly faults: FaultPlan | null;
}

/** Addresses and credentials for developers. */
export type DevFacts = WelcomeFacts & { readonly secrets: NonNullable<WelcomeFacts["secrets"]> };

/** A running development platform. */
export interface DevPlatform {
  readonly app: App;
  readonly sample: SampleData;
  /** Returns addresses and credentials for developers. */
  facts(): Promise<DevFacts>;
  /** Whether the receiver has recently received a delivery. */
  hasArrived(deliveryId: string): boolean;
  /** Whether the data directory was new. */
  readonly isNew: boolean;
  /** Waits for deliveries in progress, then stops everything. */
  stop(): Promise<void>;
}

/** The events that a new Dev app subscribes to, and the number of popular users for whom it subscribes to each. */
const subscribedEvents = [
  "chat.message.sent",
  "channel.followed",
  "channel.subscription.new",
  "channel.subscription.gifts",
  "livestream.status.updated",
  "kicks.gifted",
] as const;
const subscribedBroadcasters = 5;

/** A word that finds some of the sample users. */
const sampleQuery = "fox";

/** The setting that marks complete sample data. */
const completeKey = "dev_sample_data";

/** Starts a server with sample data, receiver, login page and application. Throws the errors of `startApp`. */
export async function startDevPlatform(options: DevPlatformOptions): Promise<DevPlatform> {
  const { credentials, events, terminal, log, now, random } = options;
  const sample = sampleData(now());
  // Stops everything in reverse order, also when the start fails: the last deliveries pass the proxies to the receiver.
  await using starting = new AsyncDisposableStack();
  let app: App | null = null;
  const application = async () => (await app?.store.applications.find(credentials.client_id)) ?? null;
  // The receiver starts before the server, because the server sends pending deliveries at its start.
  const receiver = startReceiver({
    port: credentials.receiver_port,
    wantedPort: options.ports?.receiver ?? null,
    secret: async () => (await application())?.webhook_secret ?? credentials.webhook_secret,
    terminal,
    now,
  });
  starting.defer(() => receiver.stop());
  const injection =
    options.faults && (await startFaultInjection(options.config, options.faults, { terminal, now }));
  starting.defer(async () => injection?.stop());
  const config = withOwnerLogin(injection?.config ?? options.config, credentials.portal_login);
  const adminKey = config.adminKey ?? credentials.admin_key;
  let isLoginNew = false;
  const signIn = startSignIn({
    publicUrl: () => config.publicUrl ?? app?.publicUrl ?? "",
    adminUrl: () => app?.adminUrl ?? "",
    adminKey,
    clientId: credentials.client_id,
    clientSecret: credentials.client_secret,
    people: sample.people,
    look: { title: config.portalName, accent: config.portalAccent },
    port: options.ports?.signIn ?? null,
  });
  starting.defer(() => signIn.stop());
  const loginUrl = config.loginUrl ?? signIn.loginUrl;
  const facts = async (): Promise<DevFacts> => {
    const { client_id, client_secret, access_token } = credentials;
    const known = await application();
    const { webhook_secret } = known ?? credentials;
    return {
      public_url: injection?.url ?? config.publicUrl ?? app?.publicUrl ?? "",
      admin_url: app?.adminUrl ?? "",
      receiver_url: receiver.url,
      webhook_url: known && !usesOnlyStream(known) ? known.webhook_url : null,
      sign_in_url: signIn.startUrl,
      has_portal: config.portal,
      guide_id: credentials.guide_id,
      secrets: { admin_key: adminKey, client_id, client_secret, access_token, webhook_secret },
      query: sampleQuery,
      users: welcomedUsers(sample),
      inbox: receiver.inbox(),
    };
  };
  app = await startApp({
    config: { ...config, adminKey, loginUrl },
    log,
    now,
    random,
    async prepare(store) {
      isLoginNew = await keepOwnerLogin(store, config, credentials.portal_login, { url: null, now: now() });
    },
    welcome: {
      facts,
      onInbox: receiver.onInbox,
      consoleCookie: () => consoleCookie(app?.adminUrl ?? "", adminKey),
    },
  });
  const server = app;
  starting.defer(() => server.stop());
  const { store } = app;
  injection?.connect(app);
  const isNew = (await store.settings.get(completeKey)) === null;
  await keepApplication(store, credentials, receiver.url, signIn, now());
  await keepGuideApplication(store, credentials, now());
  await keepToken(store, credentials, now());
  if (isNew) {
    await loadSample(app, sample);
    await subscribe(store, credentials.client_id, sample, config.subscriptionLimit, now());
    await store.settings.put(completeKey, isoTime(now()));
  }
  await keepOwnerLogin(store, config, credentials.portal_login, { url: app.publicUrl, now: now() });
  const owner = sample.people[0]?.user.id;
  if (isLoginNew && owner !== undefined)
    await store.applications.update(credentials.client_id, { owner_user_id: owner }, now());
  if (receiver.port !== credentials.receiver_port && options.ports?.receiver == null) {
    saveCredentials(config.data, { ...credentials, receiver_port: receiver.port });
  }
  const publicUrl = config.publicUrl ?? app.publicUrl;
  const services = supervise([activity({ app, publicUrl, sample, events, now, random })], log);
  starting.defer(() => services.stop());
  const started = starting.move();
  return {
    app,
    sample,
    facts,
    hasArrived: (deliveryId) => receiver.inbox().some(({ id }) => id === deliveryId),
    isNew,
    stop: () => started.disposeAsync(),
  };
}

/** Begins a session of the console with the operator key, and returns the cookie that carries it. */
async function consoleCookie(adminUrl: string, adminKey: string): Promise<string> {
  const { protocol } = new URL(adminUrl);
  const answer = await fetch(`${adminUrl}/console/session`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminKey}`, "onair-page": protocol.slice(0, -1) },
    signal: AbortSignal.timeout(5 * second),
  });
  const [cookie] = answer.headers.getSetCookie();
  if (!answer.ok || cookie === undefined) throw new Error(`The console answered ${answer.status}`);
  return cookie;
}

const shownUsers = 12;

/** Returns the most popular users, for the start page. */
function welcomedUsers({ people, livestreams }: SampleData): WelcomeFacts["users"] {
  const live = new Set(livestreams.map(({ channel_id }) => channel_id));
  return people.slice(0, shownUsers).map(({ user: { id, username, display_name }, channel }) => {
    return { id, username, display_name: display_name ?? username, is_live: live.has(channel.id) };
  });
}

/** Returns an application of the sample platform: confidential, with both ways of delivery, unless `fields` differ. */
function newApplication(
  now: number,
  fields: Pick<NewApplication, "id" | "name" | "webhook_url" | "redirect_uris"> & Partial<NewApplication>,
): NewApplication {
  return {
    client_type: "confidential",
    delivery: "both",
    webhook_secret: newWebhookSecret(),
    scopes,
    rate_limit: null,
    subscription_limit: null,
    created_at: isoTime(now),
    updated_at: isoTime(now),
    client_secret_hash: null,
    ...fields,
  };
}

/** Returns the stored forms of a client secret. */
function secretFields(secret: string): Pick<NewApplication, "client_secret_hash" | "client_secret_prefix"> {
  return { client_secret_hash: secretHash(secret), client_secret_prefix: secretPrefix(secret) };
}

/**
 * Creates or updates the Dev app. Its webhook URL and redirect URI follow the ports of the receiver and the sample
 * application, unless the developer has changed them.
 */
async function keepApplication(
  { applications }: Store,
  { client_id: id, client_secret, webhook_secret }: DevCredentials,
  webhookUrl: string,
  { redirectUri }: Pick<SignIn, "redirectUri">,
  now: number,
): Promise<void> {
  const known = await applications.find(id);
  if (!known) {
    const addresses = { webhook_url: webhookUrl, redirect_uris: [redirectUri] };
    const fields = { id, name: "Dev app", ...addresses, webhook_secret, ...secretFields(client_secret) };
    return applications.create(newApplication(now, fields));
  }
  const others = known.redirect_uris.filter((uri) => !isSampleRedirectUri(uri));
  const headers = Object.fromEntries(known.webhook_headers.map(({ name, value }) => [name, value]));
  const changes = {
    // The receiver on another port is the same receiver, so the headers stay.
    ...(known.webhook_url !== webhookUrl &&
      isReceiverUrl(known.webhook_url ?? "") && { webhook_url: webhookUrl, webhook_headers: headers }),
    ...(!known.redirect_uris.includes(redirectUri) && { redirect_uris: [redirectUri, ...others] }),
  };
  if (Object.keys(changes).length > 0) await applications.update(id, changes, now);
}

/** Creates an application without webhook URL and subscriptions, for guides that begin with those. */
async function keepGuideApplication(
  { applications }: Store,
  { guide_id: id, guide_secret }: DevCredentials,
  now: number,
): Promise<void> {
  if (await applications.find(id)) return;
  const fields = {
    id,
    name: "Guide app",
    webhook_url: null,
    redirect_uris: [],
    ...secretFields(guide_secret),
  };
  await applications.create(newApplication(now, fields));
}

/** Adds the setting for the sign-in of owners of applications to the portal, unless the setting is given. */
function withOwnerLogin(config: Config, applicationId: string): Config {
  return config.portal && config.portalLogin === null ? { ...config, portalLogin: applicationId } : config;
}

/** Returns the redirect URI of the portal; null when the port is not known yet. */
function portalRedirectUri({ publicUrl, host, port, tlsCert }: Config, url: string | null): string | null {
  const base = publicUrl ?? url ?? (port === 0 ? null : urlOf(host, port, tlsCert !== null));
  return base === null ? null : `${base}/portal/signed-in`;
}

/**
 * Creates the application that owners use to sign in, or updates its redirect URI to the address of the server. Returns
 * whether it was created.
 * @param url of the server; null before it listens
 */
async function keepOwnerLogin(
  store: Store,
  config: Config,
  applicationId: string,
  { url, now }: { readonly url: string | null; readonly now: number },
): Promise<boolean> {
  if (config.portalLogin !== applicationId) return false;
  const uri = portalRedirectUri(config, url);
  const redirect_uris = uri === null ? [] : [uri];
  const known = await store.applications.find(applicationId);
  if (known) {
    if (uri !== null && !known.redirect_uris.includes(uri))
      await store.applications.update(applicationId, { redirect_uris }, now);
    return false;
  }
  await store.applications.create(
    newApplication(now, {
      id: applicationId,
      name: "Developer portal",
      client_type: "public",
      delivery: "webhook",
      webhook_url: null,
      scopes: ["users:read"],
      redirect_uris,
    }),
  );
  return true;
}

/** Creates the access token. Renews an expired token with the same value. */
async function keepToken(
  store: Store,
  { client_id, access_token }: DevCredentials,
  now: number,
): Promise<void> {
  await store.tokens.removeExpired(now);
  const hash = secretHash(access_token);
  if (await store.tokens.find(hash)) return;
  await store.tokens.create(hash, {
    applicationId: client_id,
    userId: null,
    scopes,
    createdAt: now,
    expiresAt: now + appTokenLifetimeMs,
  });
}

async function loadSample({ data }: App, { people, categories, livestreams }: SampleData): Promise<void> {
  const refusals = [
    ...(await data.categories.keep(categories)),
    ...(await data.users.keep(people.map(({ user }) => user))),
    ...(await data.channels.keep(people.map(({ channel }) => channel))),
    ...(await data.livestreams.keep(livestreams)),
  ].filter((refusal) => refusal !== null);
  if (refusals.length > 0) throw new Error(`the sample data is invalid: ${refusals[0]}`);
}

async function subscribe(
  store: Store,
  applicationId: string,
  { people }: SampleData,
  limit: number,
  now: number,
): Promise<void> {
  const wanted = people
    .slice(0, subscribedBroadcasters)
    .flatMap(({ user }) =>
      subscribedEvents.map((event) => ({ broadcaster_user_id: user.id, event, version: 1 })),
    );
  await store.subscriptions.subscribe({ applicationId, wanted, limit }, now);
}
