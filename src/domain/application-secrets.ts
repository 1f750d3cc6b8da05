import {
  type Application,
  type HashedSecret,
  type RetiredSecret,
  type Rotation,
  retire,
  type SecretInForce,
  secretPrefix,
} from "./applications.ts";
import { DomainError } from "./errors.ts";

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

/** Returns the fields that replace the client secret. Throws `conflict` for a public client, and as `retire` does. */
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

/** Returns the fields that replace the webhook secret. Throws as `retire` does. */
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
  const retired = (kind: SecretInForce["kind"], earlier: readonly RetiredSecret[]) =>
    inForce(earlier, now)
      .map(({ secret, prefix = "", created_at, expires_at }) => {
        const shown = kind === "webhook_secret" ? secretPrefix(secret) : prefix;
        return { kind, prefix: shown, created_at, expires_at };
      })
      .reverse();
  const clientSecret = {
    kind: "client_secret",
    prefix: stored.client_secret_prefix,
    created_at: stored.client_secret_created_at,
    expires_at: null,
  } as const;
  const webhookSecret = {
    kind: "webhook_secret",
    prefix: secretPrefix(stored.webhook_secret),
    created_at: stored.webhook_secret_created_at,
    expires_at: null,
  } as const;
  return [
    ...(stored.client_type === "public" ? [] : [clientSecret]),
    ...retired("client_secret", stored.retired_client_secrets),
    webhookSecret,
    ...retired("webhook_secret", stored.retired_webhook_secrets),
  ];
}

function inForce(retired: readonly RetiredSecret[], now: number): RetiredSecret[] {
  return retired.filter(({ expires_at }) => expires_at > now);
}
