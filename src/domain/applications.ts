import type { Scope } from "./tokens.ts";

/**
 * Whether a program can keep a secret (RFC 6749, section 2.1). One that runs on its users' devices cannot: it is
 * public and has no client secret.
 */
export const clientTypes = ["confidential", "public"] as const;
export type ClientType = (typeof clientTypes)[number];

/** A third-party program that calls the API and receives webhooks. */
export interface Application {
  readonly id: string;
  readonly name: string;
  readonly client_type: ClientType;
  readonly webhook_url: string | null;
  /** Readable, because every delivery is signed with it: `whsec_…`. */
  readonly webhook_secret: string;
  readonly scopes: readonly Scope[];
  readonly redirect_uris: readonly string[];
  /** Requests a minute; null: the server's default. */
  readonly rate_limit: number | null;
  /** null: the server's default. */
  readonly subscription_limit: number | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The hash stays out of `Application`, so that no answer can carry it. */
export interface NewApplication extends Application {
  /** null for a public client. */
  readonly client_secret_hash: Uint8Array | null;
}

/** What may be changed of an application after it was created. */
export type ApplicationChanges = Partial<
  Pick<Application, "name" | "webhook_url" | "scopes" | "redirect_uris" | "rate_limit" | "subscription_limit">
>;
