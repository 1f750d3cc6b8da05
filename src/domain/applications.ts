import { type Endpoint, type EndpointStatus, endpointStatus } from "./endpoints.ts";
import { DomainError } from "./errors.ts";
import type { FilterChanges, Filters } from "./filters.ts";
import type { WantedEvent } from "./subscriptions.ts";
import { fold } from "./text.ts";
import { day, second } from "./time.ts";
import type { Scope } from "./tokens.ts";
import type { WebhookHeader, WebhookHeaderChanges } from "./webhook-headers.ts";

/**
 * Whether a program can keep a secret (RFC 6749, section 2.1). A program on its users' devices cannot: it is public and
 * has no client secret.
 */
export const clientTypes = ["confidential", "public"] as const;
export type ClientType = (typeof clientTypes)[number];

/** How an application gets its events: at its webhook URL, on the event stream, or both. `stream` needs no URL. */
export const deliveryModes = ["webhook", "stream", "both"] as const;
export type DeliveryMode = (typeof deliveryModes)[number];

/** Fields that a developer may change with the application's own token, unless the operator has locked them. */
export const lockableFields = [
  "webhook_url",
  "webhook_headers",
  "filters",
  "delivery",
  "redirect_uris",
] as const;
export type LockableField = (typeof lockableFields)[number];

/** The upper limit of an application's concurrent deliveries. */
export const maxWebhookConcurrency = 1_000;

/** A third-party program that calls the API and receives webhooks. */
export interface Application {
  readonly id: string;
  readonly name: string;
  readonly client_type: ClientType;
  readonly delivery: DeliveryMode;
  readonly webhook_url: string | null;
  /** The last URLs before it, the oldest first. */
  readonly former_urls: readonly FormerUrl[];
  /** Sent with every webhook, in plain text. */
  readonly webhook_headers: readonly WebhookHeader[];
  /** Stored in plain text, because every delivery is signed with it: `whsec_…`. */
  readonly webhook_secret: string;
  /** Former secrets that still sign; see `webhookSecrets`. */
  readonly retired_webhook_secrets: readonly RetiredSecret[];
  readonly filters: Filters;
  /** Increases with each change of the filters. */
  readonly filters_generation: number;
  /** Fields that the application's developer may not change. */
  readonly locked: readonly LockableField[];
  /** The user who owns the application; null until the platform reports an owner. */
  readonly owner_user_id: number | null;
  readonly scopes: readonly Scope[];
  readonly redirect_uris: readonly string[];
  /** Requests a minute; null for the server's default. */
  readonly rate_limit: number | null;
  /** null for the server's default. */
  readonly subscription_limit: number | null;
  /** Concurrent deliveries; null for the server's default. */
  readonly webhook_concurrency: number | null;
  /** Whether the application's tokens and secret are refused and nothing is delivered to it. */
  readonly disabled: boolean;
  /**
   * Increases with each new webhook URL, each change to `delivery: "stream"`, and each time a person enables the
   * endpoint. State of the endpoint from an earlier generation is ignored.
   */
  readonly endpoint_generation: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/**
 * A new application, by default with `delivery: "webhook"`. The hash of its client secret is no part of `Application`,
 * so that no answer can contain it.
 */
export type NewApplication = Pick<
  Application,
  | "id"
  | "name"
  | "client_type"
  | "webhook_url"
  | "webhook_secret"
  | "scopes"
  | "redirect_uris"
  | "rate_limit"
  | "subscription_limit"
  | "created_at"
  | "updated_at"
> &
  Partial<
    Pick<
      Application,
      "delivery" | "webhook_headers" | "filters" | "webhook_concurrency" | "locked" | "owner_user_id"
    >
  > & {
    /** null for a public client. */
    readonly client_secret_hash: Uint8Array | null;
    /** The first characters of the client secret; see `secretPrefix`. */
    readonly client_secret_prefix?: string;
  };

/** The fields of an application that can change. */
export type ApplicationChanges = Partial<
  Pick<
    Application,
    | "name"
    | "delivery"
    | "webhook_url"
    | "scopes"
    | "redirect_uris"
    | "rate_limit"
    | "subscription_limit"
    | "webhook_concurrency"
    | "locked"
    | "owner_user_id"
    | "disabled"
  >
> & {
  /** As `changedWebhookHeaders` applies them. */
  readonly webhook_headers?: WebhookHeaderChanges;
  /** As `changedFilters` applies them. */
  readonly filters?: FilterChanges;
};

/** Throws `locked` with the problems of all given fields that are locked. */
export function requireUnlocked(
  locked: readonly LockableField[],
  changes: Readonly<Partial<Record<LockableField, unknown>>>,
): void {
  const fields = lockableFields.filter((field) => changes[field] !== undefined && locked.includes(field));
  if (fields.length === 0) return;
  const message = "is locked: only the platform can change it";
  const errors = fields.map((field) => ({ in: "body" as const, field, message }));
  throw new DomainError("locked", `${fields[0]} ${message}`, { errors });
}

/** A webhook URL that was replaced, with the first and the last endpoint generation in which it was called. */
export interface FormerUrl {
  readonly from: number;
  readonly until: number;
  readonly url: string;
}

/** How many former URLs are kept. */
const keptFormerUrls = 10;

type WithUrls = Pick<Application, "webhook_url" | "former_urls" | "endpoint_generation">;

/** Returns the former URLs after the webhook URL of `before` was replaced or removed. */
export function withFormerUrl({ webhook_url: url, former_urls, endpoint_generation }: WithUrls) {
  if (url === null) return former_urls;
  const from = (former_urls.at(-1)?.until ?? -1) + 1;
  return [...former_urls, { from, until: endpoint_generation, url }].slice(-keptFormerUrls);
}

/** Returns the webhook URL in an endpoint generation; null when it is no longer kept, or when there was none. */
export function urlOf(
  { webhook_url, former_urls }: Pick<WithUrls, "webhook_url" | "former_urls">,
  generation: number,
): string | null {
  if (generation < (former_urls[0]?.from ?? 0)) return null;
  return former_urls.find(({ until }) => generation <= until)?.url ?? webhook_url;
}

type Receiving = Pick<Application, "delivery" | "webhook_url">;

/** Whether the application uses the stream alone; `both` without a URL counts as that. */
export function usesOnlyStream({ delivery, webhook_url }: Receiving): boolean {
  return delivery === "stream" || (delivery === "both" && webhook_url === null);
}

/** Whether the application gets deliveries at all. */
export function receives(application: Receiving & Pick<Application, "disabled">): boolean {
  const { delivery, disabled, webhook_url } = application;
  return !disabled && (delivery !== "webhook" || webhook_url !== null);
}

/**
 * The status in which pending deliveries of an application end without being sent: it receives none, or it can read
 * them from its event stream. null if they are sent.
 */
export function endOfPending(
  application: Receiving & Pick<Application, "disabled">,
): "canceled" | "delivered" | null {
  if (!receives(application)) return "canceled";
  return usesOnlyStream(application) ? "delivered" : null;
}

/** Whether an application receives its events, and the reason if not. */
export const applicationStates = [
  "enabled",
  "failing",
  "disabled",
  "disabled_by_operator",
  "no_webhook",
  "stream_only",
] as const;
export type ApplicationState = (typeof applicationStates)[number];

type Stateful = Pick<Application, "disabled" | "delivery" | "webhook_url">;

/** @param endpoint the state of its endpoint; omitted when that accepts deliveries */
export function applicationState(
  { disabled, delivery, webhook_url }: Stateful,
  endpoint: EndpointStatus = "enabled",
): ApplicationState {
  if (disabled) return "disabled_by_operator";
  if (delivery === "stream") return "stream_only";
  return webhook_url === null ? "no_webhook" : endpoint;
}

/** The filter of a list; an absent field matches all applications. */
export interface ApplicationFilter {
  readonly ids?: readonly string[];
  /** A part of the name, without regard to case and diacritics. */
  readonly name?: string;
  /** A part of the name or of the webhook URL, or the whole id. */
  readonly find?: string;
  readonly owner_user_id?: number;
  readonly state?: ApplicationState;
}

/** Whether `searched` has to apply the filter: databases ignore case in ASCII only, and states are not stored. */
export function isSearch({ name, find, state }: ApplicationFilter): boolean {
  return name !== undefined || find !== undefined || state !== undefined;
}

/**
 * Returns the ids of matching applications, at most `limit`, in the given order.
 * @param troubled endpoints that fail or are disabled
 */
export function searched(
  all: Iterable<Stateful & Pick<Application, "id" | "name">>,
  { name, find, state }: ApplicationFilter,
  troubled: readonly Endpoint[],
  limit: number,
): string[] {
  const endpoints = new Map(troubled.map((endpoint) => [endpoint.application_id, endpointStatus(endpoint)]));
  const [part, wanted] = [name && fold(name), find && fold(find)];
  const found: string[] = [];
  for (const application of all) {
    const { id, webhook_url } = application;
    const folded = fold(application.name);
    const isFound =
      !wanted || folded.includes(wanted) || fold(webhook_url ?? "").includes(wanted) || fold(id) === wanted;
    const isInState = state === undefined || applicationState(application, endpoints.get(id)) === state;
    if (isFound && isInState && (!part || folded.includes(part))) found.push(id);
    if (found.length === limit) break;
  }
  return found;
}

/** The part of an application that sending needs. */
export type Recipient = Pick<
  Application,
  | "delivery"
  | "webhook_url"
  | "webhook_headers"
  | "webhook_secret"
  | "retired_webhook_secrets"
  | "webhook_concurrency"
  | "endpoint_generation"
>;

/** Returns the recipient that an application is, without other fields: thousands of recipients may be in memory. */
export function recipientOf(application: Application): Recipient {
  const { delivery, webhook_url, webhook_headers, webhook_secret, retired_webhook_secrets } = application;
  const { webhook_concurrency, endpoint_generation } = application;
  return {
    delivery,
    webhook_url,
    webhook_headers,
    webhook_secret,
    retired_webhook_secrets,
    webhook_concurrency,
    endpoint_generation,
  };
}

/** The secrets that sign a delivery at a time, newest first. */
export function webhookSecrets(recipient: Recipient, now: number): string[] {
  const { webhook_secret, retired_webhook_secrets: retired } = recipient;
  if (retired.length === 0) return [webhook_secret];
  const earlier = inForce(retired, now).map(({ secret }) => secret);
  return [webhook_secret, ...earlier.reverse()];
}

/** A secret that is stored as its hash, with its first characters for identification. */
export interface HashedSecret {
  readonly hash: Uint8Array;
  readonly prefix: string;
}

export const secretKinds = ["client_secret", "webhook_secret"] as const;

/** A valid secret, without its value. Times are milliseconds since the epoch. */
export interface SecretInForce {
  readonly kind: (typeof secretKinds)[number];
  /** The first characters of the secret. */
  readonly prefix: string;
  readonly created_at: number;
  /** null for the newest of its kind, which is valid until it is rotated. */
  readonly expires_at: number | null;
}

/** The first characters of a secret: enough to identify it, and far too few to guess the rest. */
export function secretPrefix(secret: string): string {
  return /^(?:onair_cs_|whsec_)?.{4}/.exec(secret)?.[0] ?? "";
}

/** A replaced secret that stays valid for a while. */
export interface RetiredSecret {
  /** A webhook secret in plain text, or a client secret's hash in base64. */
  readonly secret: string;
  /** Milliseconds since the epoch. */
  readonly expires_at: number;
  readonly created_at: number;
  /** The first characters of a client secret; absent for a webhook secret, which has them itself. */
  readonly prefix?: string;
}

/** Options of a secret rotation. */
export interface Rotation {
  readonly now: number;
  /** How long older secrets stay valid at most; 0 ends them at once. */
  readonly overlapMs: number;
}

export const rotationLimits = {
  defaultOverlapSeconds: day / second,
  maxOverlapSeconds: (30 * day) / second,
  /** Older secrets that are valid at the same time. */
  maxRetired: 4,
} as const;

/**
 * The secrets that stay valid beside a new one. None outlives the overlap of this rotation, so an overlap of 0 ends all
 * of them. Throws `conflict` when too many would be valid.
 */
function retire(
  current: Omit<RetiredSecret, "expires_at">,
  retired: readonly RetiredSecret[],
  { now, overlapMs }: Rotation,
): readonly RetiredSecret[] {
  const until = now + overlapMs;
  const kept = [...retired, { ...current, expires_at: until }]
    .map((secret) => ({ ...secret, expires_at: Math.min(secret.expires_at, until) }))
    .filter(({ expires_at }) => expires_at > now);
  if (kept.length <= rotationLimits.maxRetired) return kept;
  throw new DomainError(
    "conflict",
    `${kept.length} earlier secrets would be valid at once, but at most ${rotationLimits.maxRetired} may be: wait until one expires, or rotate without overlap`,
  );
}

/** The secrets of an application as they are stored. */
export interface StoredSecrets
  extends Pick<Application, "client_type" | "disabled" | "webhook_secret" | "retired_webhook_secrets"> {
  /** Empty for a public client. */
  readonly client_secret_hash: Buffer;
  readonly retired_client_secrets: readonly RetiredSecret[];
  /** Empty for a public client. */
  readonly client_secret_prefix: string;
  readonly client_secret_created_at: number;
  readonly webhook_secret_created_at: number;
}

/**
 * Returns the fields that replace the client secret. Throws `conflict` for a public client, or when too many secrets
 * would be valid.
 */
export function replacedClientSecret(stored: StoredSecrets, secret: HashedSecret, rotation: Rotation) {
  if (stored.client_type === "public")
    throw new DomainError("conflict", "A public client has no client secret");
  const { client_secret_prefix: prefix, client_secret_created_at: created_at } = stored;
  const earlier = { secret: stored.client_secret_hash.toString("base64"), prefix, created_at };
  return {
    client_secret_hash: Buffer.from(secret.hash),
    client_secret_prefix: secret.prefix,
    client_secret_created_at: rotation.now,
    retired_client_secrets: retire(earlier, stored.retired_client_secrets, rotation),
  };
}

/** Returns the fields that replace the webhook secret. Throws `conflict` when too many secrets would be valid. */
export function replacedWebhookSecret(stored: StoredSecrets, secret: string, rotation: Rotation) {
  const earlier = { secret: stored.webhook_secret, created_at: stored.webhook_secret_created_at };
  return {
    webhook_secret: secret,
    webhook_secret_created_at: rotation.now,
    retired_webhook_secrets: retire(earlier, stored.retired_webhook_secrets, rotation),
  };
}

/** The hashes of all client secrets that are valid at a time; none for a public client or a disabled application. */
export function goodClientSecrets(stored: StoredSecrets, now: number): Buffer[] {
  if (stored.disabled || stored.client_type === "public") return [];
  const earlier = inForce(stored.retired_client_secrets, now);
  return [stored.client_secret_hash, ...earlier.map(({ secret }) => Buffer.from(secret, "base64"))];
}

/** Describes the secrets that are valid at a time, without their values. Each kind is sorted newest first. */
export function secretsInForce(stored: StoredSecrets, now: number): SecretInForce[] {
  type Newest = Pick<SecretInForce, "kind" | "prefix" | "created_at">;
  const ofKind = (newest: Newest, retired: readonly RetiredSecret[]): SecretInForce[] => [
    { ...newest, expires_at: null },
    ...inForce(retired, now)
      .map(({ secret, prefix = secretPrefix(secret), created_at, expires_at }) => {
        return { kind: newest.kind, prefix, created_at, expires_at };
      })
      .reverse(),
  ];
  const clientSecret = {
    kind: "client_secret",
    prefix: stored.client_secret_prefix,
    created_at: stored.client_secret_created_at,
  } as const;
  const webhookSecret = {
    kind: "webhook_secret",
    prefix: secretPrefix(stored.webhook_secret),
    created_at: stored.webhook_secret_created_at,
  } as const;
  return [
    ...(stored.client_type === "public" ? [] : ofKind(clientSecret, stored.retired_client_secrets)),
    ...ofKind(webhookSecret, stored.retired_webhook_secrets),
  ];
}

function inForce(retired: readonly RetiredSecret[], now: number): RetiredSecret[] {
  return retired.filter(({ expires_at }) => expires_at > now);
}

/** The loopback interface, where a native application may use any port (RFC 8252, section 7.3). */
const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:[0-9]{1,5})?(?=[/?]|$)/;

const ownMachine = "127.0.0.1, [::1] or localhost";

/**
 * The problem of a redirect URI to be registered, or null. Allowed are https everywhere, http on loopback, and for
 * public clients private schemes with a dot (RFC 8252, section 7.1), which excludes `javascript:` and the like. A
 * fragment is never allowed (RFC 6749, section 3.1.2).
 */
export function redirectUriProblem(uri: string, clientType: ClientType): string | null {
  if (!/^[\x21-\x7e]+$/.test(uri) || !URL.canParse(uri)) return "must be an absolute URI";
  if (uri.includes("#")) return "must not have a fragment";
  const { protocol, username, password } = new URL(uri);
  if (username || password) return "must not have a user name or password";
  if (protocol === "https:") return /^https:\/\/[^/\\]/i.test(uri) ? null : "must be an absolute URI";
  if (protocol === "http:" && loopback.test(uri)) return null;
  if (clientType === "confidential") return `must be https, or http on ${ownMachine}`;
  if (protocol.includes(".")) return null;
  return `must be https, http on ${ownMachine}, or of a private-use scheme like com.example.app:/callback`;
}

/**
 * Whether a redirect URI is registered: compared character by character (RFC 9700, section 2.1), except that a public
 * client may use any port of a loopback address.
 */
export function isRegistered(
  uri: string,
  {
    redirect_uris,
    client_type,
  }: { readonly redirect_uris: readonly string[]; readonly client_type: ClientType },
): boolean {
  if (redirect_uris.includes(uri)) return true;
  if (client_type !== "public" || !loopback.test(uri) || redirectUriProblem(uri, client_type)) return false;
  const anyPort = (known: string) => (loopback.test(known) ? known.replace(loopback, "http://$1") : null);
  return redirect_uris.some((registered) => anyPort(registered) === anyPort(uri));
}

/**
 * Whether a stored consent applies to the next request. Not for a public client without https, which any program on the
 * user's device could impersonate (RFC 8252, section 8.6).
 */
export function mayReuseConsent(uri: string, clientType: ClientType): boolean {
  return clientType === "confidential" || uri.startsWith("https://");
}

/** Appends the parameters of an answer to the redirect URI and keeps its query (RFC 6749, section 3.1.2). */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | null>>): string {
  const pairs = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== null);
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(pairs)}`;
}

/** Applications of developers, with their secrets. */
export interface ApplicationStore {
  create(application: NewApplication): Promise<void>;
  /**
   * Changes these fields and returns the application. Its pending deliveries are canceled when it no longer receives
   * any, and become `delivered` when it now uses only its event stream. Of a long backlog a part may be left: call
   * `endRest` once the dispatcher has been told. None of it is ever sent: before the application receives again, the
   * rest ends. If that takes longer than some seconds, this rejects with `unavailable`, and the next call continues.
   *
   * Another URL, or `delivery: "stream"`, begins a new generation of its endpoint, as `endpoints.enable` does. Rejects
   * with `locked` when a developer may not change a field, and with `invalid_parameter` as `changedWebhookHeaders` and
   * `changedFilters` do.
   *
   * @param by the person who changes it; the operator by default
   */
  update(
    id: string,
    changes: ApplicationChanges,
    now: number,
    by?: "operator" | "developer",
  ): Promise<Application | null>;
  /**
   * Ends the pending deliveries that `update` has left, until none is left, some seconds have passed, or the
   * application receives again.
   */
  endRest(id: string, now: number): Promise<void>;
  /**
   * Removes an application with its tokens and subscriptions, and cancels its pending deliveries. Resolves to false
   * when there is none. An application may have very many tokens, so it is disabled first and then loses them in
   * several transactions.
   */
  remove(id: string, now: number): Promise<boolean>;
  /** Replaces the client secret. Rejects with `conflict` for a public client, or if too many secrets would be valid. */
  rotateClientSecret(id: string, secret: HashedSecret, rotation: Rotation): Promise<Application | null>;
  /** Replaces the webhook secret. Rejects with `conflict` if too many secrets would be valid. */
  rotateWebhookSecret(id: string, secret: string, rotation: Rotation): Promise<Application | null>;
  find(id: string): Promise<Application | null>;
  /** Hashes of all valid client secrets. Empty for an application that does not exist, is disabled or is public. */
  clientSecretHashes(id: string, now: number): Promise<Uint8Array[]>;
  /** The valid secrets without their values, each kind newest first. Empty when there is no such application. */
  secretsInForce(id: string, now: number): Promise<SecretInForce[]>;
  /** The applications that subscribe to an event, each with its filters. */
  subscribers(wanted: WantedEvent): Promise<Pick<Application, "id" | "filters">[]>;
  all(): Promise<Application[]>;
  /** The next applications by ascending id, starting after `after` ("" for the first page). */
  page(after: string, limit: number, filter?: ApplicationFilter): Promise<Application[]>;
}
