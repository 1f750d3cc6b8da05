import type { ClientType, DeliveryMode, LockableField, RetiredSecret } from "../../../domain/applications.ts";
import type { LoginAnswer } from "../../../domain/authorizations.ts";
import type { Scope, ScopeName } from "../../../domain/tokens.ts";
import type { WebhookHeader } from "../../../domain/webhook-headers.ts";
import type { Kinds, ReferredColumn } from "./kinds.ts";

// Scopes of tokens, codes and login requests are stored as they were requested.

export const applicationColumns = (
  { text, integer, boolean, bytes, json, words }: Kinds,
  user: ReferredColumn,
) => ({
  id: text().primaryKey(),
  name: text().notNull(),
  client_type: text().$type<ClientType>().notNull(),
  /** Empty for a public client. */
  client_secret_hash: bytes().notNull(),
  delivery: text().$type<DeliveryMode>().notNull().default("webhook"),
  webhook_url: text(),
  webhook_headers: json<readonly WebhookHeader[]>().notNull().default([]),
  webhook_secret: text().notNull(),
  retired_webhook_secrets: json<readonly RetiredSecret[]>().notNull().default([]),
  retired_client_secrets: json<readonly RetiredSecret[]>().notNull().default([]),
  /** Empty for a public client. */
  client_secret_prefix: text().notNull(),
  client_secret_created_at: integer().notNull(),
  webhook_secret_created_at: integer().notNull(),
  locked: words<LockableField>().notNull().default([]),
  owner_user_id: integer().references(user, { onDelete: "set null" }),
  disabled: boolean().notNull().default(false),
  /** Incremented with each new webhook URL, each change to `stream`, and each time a person enables the endpoint. */
  endpoint_generation: integer().notNull().default(0),
  scopes: words<Scope>().notNull(),
  redirect_uris: words<string>().notNull(),
  rate_limit: integer(),
  subscription_limit: integer(),
  webhook_concurrency: integer(),
  created_at: text().notNull(),
  updated_at: text().notNull(),
});

export const tokenColumns = (
  { text, integer, bytes, words }: Kinds,
  application: ReferredColumn,
  user: ReferredColumn,
) => ({
  hash: bytes().primaryKey(),
  application_id: text().notNull().references(application, { onDelete: "cascade" }),
  user_id: integer().references(user, { onDelete: "cascade" }),
  scopes: words<ScopeName>().notNull(),
  expires_at: integer().notNull(),
  /**
   * Shared by tokens that are revoked together: those of one authorization code, or an application's portal sessions.
   */
  family_id: text(),
  /** The refresh token that was issued with it; null for a token without one. */
  refresh_hash: bytes(),
});

/** Columns of grants on behalf of a user. Such a row is removed with its application or its user. */
const onBehalf = ({ text, integer, words }: Kinds, application: ReferredColumn, user: ReferredColumn) => ({
  application_id: text().notNull().references(application, { onDelete: "cascade" }),
  user_id: integer().notNull().references(user, { onDelete: "cascade" }),
  scopes: words<ScopeName>().notNull(),
});

export const loginRequestColumns = (
  { text, integer, bytes, json, words }: Kinds,
  application: ReferredColumn,
  user: ReferredColumn,
) => ({
  challenge_hash: bytes().primaryKey(),
  browser_hash: bytes().notNull(),
  application_id: text().notNull().references(application, { onDelete: "cascade" }),
  redirect_uri: text().notNull(),
  scopes: words<ScopeName>().notNull(),
  state: text(),
  code_challenge: text().notNull(),
  expires_at: integer().notNull(),
  /** Null after its only use. */
  verifier_hash: bytes().unique(),
  answer: json<LoginAnswer>().notNull(),
  /** Null for a rejection. */
  user_id: integer().references(user, { onDelete: "cascade" }),
});

export const authorizationCodeColumns = (
  kinds: Kinds,
  application: ReferredColumn,
  user: ReferredColumn,
) => ({
  hash: kinds.bytes().primaryKey(),
  ...onBehalf(kinds, application, user),
  redirect_uri: kinds.text().notNull(),
  code_challenge: kinds.text().notNull(),
  /** The family of the tokens that are issued for the code. */
  family_id: kinds.text().notNull(),
  expires_at: kinds.integer().notNull(),
  used_at: kinds.integer(),
});

export const refreshTokenColumns = (kinds: Kinds, application: ReferredColumn, user: ReferredColumn) => ({
  hash: kinds.bytes().primaryKey(),
  ...onBehalf(kinds, application, user),
  family_id: kinds.text().notNull(),
  expires_at: kinds.integer().notNull(),
  /** The token that was exchanged for it; null for the first of a family. Tokens of one parent are siblings. */
  parent_hash: kinds.bytes(),
  /**
   * When it was first used, or `graceEnded`. A used token is kept until it expires, so that its reuse is noticed.
   */
  rotated_at: kinds.integer(),
});

export const consentColumns = (kinds: Kinds, application: ReferredColumn, user: ReferredColumn) => ({
  ...onBehalf(kinds, application, user),
  scopes: kinds.words<Scope>().notNull(),
  created_at: kinds.text().notNull(),
  updated_at: kinds.text().notNull(),
});
