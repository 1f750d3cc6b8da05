import { DomainError } from "./errors.ts";
import { day, second } from "./time.ts";
import type { Scope } from "./tokens.ts";

/**
 * Whether a program can keep a secret (RFC 6749, section 2.1). One that runs on its users' devices cannot: it is
 * public and has no client secret.
 */
export const clientTypes = ["confidential", "public"] as const;
export type ClientType = (typeof clientTypes)[number];

/**
 * How an application gets its events: sent to its webhook URL, on the event stream, or both. On the stream nothing is
 * sent to a URL, and none is needed.
 */
export const deliveryModes = ["webhook", "stream", "both"] as const;
export type DeliveryMode = (typeof deliveryModes)[number];

/** An application cannot have more deliveries under way at once. */
export const maxWebhookConcurrency = 1_000;

/** A third-party program that calls the API and receives webhooks. */
export interface Application {
  readonly id: string;
  readonly name: string;
  readonly client_type: ClientType;
  readonly delivery: DeliveryMode;
  readonly webhook_url: string | null;
  /** Readable, because every delivery is signed with it: `whsec_…`. */
  readonly webhook_secret: string;
  /** Those before it that still sign; see `webhookSecrets`. */
  readonly retired_webhook_secrets: readonly RetiredSecret[];
  readonly scopes: readonly Scope[];
  readonly redirect_uris: readonly string[];
  /** Requests a minute; null: the server's default. */
  readonly rate_limit: number | null;
  /** null: the server's default. */
  readonly subscription_limit: number | null;
  /** Deliveries that may be under way to it at once; null: the server's default. */
  readonly webhook_concurrency: number | null;
  /** Its tokens and its secret are refused, and nothing is delivered to it. */
  readonly disabled: boolean;
  /**
   * Counts up with each webhook URL, and each time a person enables the endpoint: what is known of the endpoint from an
   * earlier generation no longer counts.
   */
  readonly endpoint_generation: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The hash stays out of `Application`, so that no answer can carry it. */
export interface NewApplication
  extends Omit<
    Application,
    "delivery" | "retired_webhook_secrets" | "webhook_concurrency" | "disabled" | "endpoint_generation"
  > {
  readonly webhook_concurrency?: number | null;
  /** `webhook` where left out. */
  readonly delivery?: DeliveryMode;
  /** null for a public client. */
  readonly client_secret_hash: Uint8Array | null;
}

/** What may be changed of an application after it was created. */
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
    | "disabled"
  >
>;

/** A secret that was replaced and is good for a while beside the new one. */
export interface RetiredSecret {
  /** A webhook secret itself; of a client secret its hash in base64. */
  readonly secret: string;
  /** Milliseconds since the epoch. */
  readonly expires_at: number;
}

/** How a secret is replaced. */
export interface Rotation {
  readonly now: number;
  /** For how long every older secret stays good, at most; 0: not at all. */
  readonly overlapMs: number;
}

export const rotationLimits = {
  defaultOverlapSeconds: day / second,
  maxOverlapSeconds: (30 * day) / second,
  /** Older secrets that are good at the same time. */
  maxRetired: 4,
} as const;

/**
 * The secrets that stay good beside a new one. None of them outlives the overlap of this rotation, so one of no
 * overlap ends them all. Throws `conflict` where too many would be good at once.
 */
export function retire(
  current: string,
  retired: readonly RetiredSecret[],
  { now, overlapMs }: Rotation,
): readonly RetiredSecret[] {
  const until = now + overlapMs;
  const kept = [...retired, { secret: current, expires_at: until }]
    .map(({ secret, expires_at }) => ({ secret, expires_at: Math.min(expires_at, until) }))
    .filter(({ expires_at }) => expires_at > now);
  if (kept.length <= rotationLimits.maxRetired) return kept;
  throw new DomainError(
    "conflict",
    `${kept.length} earlier secrets would be good at once, ${rotationLimits.maxRetired} may be: wait until one has expired, or rotate without overlap`,
  );
}

type Receiving = Pick<Application, "delivery" | "webhook_url">;

/** Whether the stream is all that it uses; without a URL, `both` comes to that. */
export function usesOnlyStream({ delivery, webhook_url }: Receiving): boolean {
  return delivery === "stream" || (delivery === "both" && webhook_url === null);
}

/** Whether anything is delivered to it, in whatever way. */
export function receives(application: Receiving & Pick<Application, "disabled">): boolean {
  const { delivery, disabled, webhook_url } = application;
  return !disabled && (delivery !== "webhook" || webhook_url !== null);
}

/** As much of an application as sending to it takes. */
export type Recipient = Pick<
  Application,
  | "delivery"
  | "webhook_url"
  | "webhook_secret"
  | "retired_webhook_secrets"
  | "webhook_concurrency"
  | "endpoint_generation"
>;

/** Nothing but that, because ten thousand of them may be in memory. */
export function recipientOf(application: Application): Recipient {
  const { delivery, webhook_url, webhook_secret, retired_webhook_secrets } = application;
  const { webhook_concurrency, endpoint_generation } = application;
  return {
    delivery,
    webhook_url,
    webhook_secret,
    retired_webhook_secrets,
    webhook_concurrency,
    endpoint_generation,
  };
}

/** The secrets that sign a delivery at a time, the newest first. */
export function webhookSecrets(recipient: Recipient, now: number): string[] {
  const { webhook_secret, retired_webhook_secrets: retired } = recipient;
  if (retired.length === 0) return [webhook_secret];
  const good = retired.filter(({ expires_at }) => expires_at > now).map(({ secret }) => secret);
  return [webhook_secret, ...good.reverse()];
}
