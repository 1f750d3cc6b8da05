import { sql } from "drizzle-orm";
import { bigint, boolean, index, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import type { ClientType, DeliveryMode, LockableField, RetiredSecret } from "../../../domain/applications.ts";
import type { LoginAnswer } from "../../../domain/authorizations.ts";
import type { Scope, ScopeName } from "../../../domain/tokens.ts";
import { bytes, integer, json, words } from "./columns.ts";
import { users } from "./platform.ts";

// Scopes of tokens, and of what becomes tokens, are kept as they were asked for.

export const applications = pgTable(
  "applications",
  {
    id: text().primaryKey(),
    name: text().notNull(),
    client_type: text().$type<ClientType>().notNull(),
    /** Empty for a public client. */
    client_secret_hash: bytes().notNull(),
    delivery: text().$type<DeliveryMode>().notNull().default("webhook"),
    webhook_url: text(),
    webhook_secret: text().notNull(),
    retired_webhook_secrets: json<readonly RetiredSecret[]>().notNull().default([]),
    retired_client_secrets: json<readonly RetiredSecret[]>().notNull().default([]),
    /** null for secrets of an earlier version. */
    client_secret_prefix: text(),
    client_secret_created_at: integer(),
    webhook_secret_created_at: integer(),
    locked: words<LockableField>().notNull().default([]),
    owner_user_id: integer().references(() => users.id, { onDelete: "set null" }),
    disabled: boolean().notNull().default(false),
    /** Counts up with each webhook URL, and each time a person enables the endpoint. */
    endpoint_generation: integer().notNull().default(0),
    scopes: words<Scope>().notNull(),
    redirect_uris: words<string>().notNull(),
    rate_limit: integer(),
    subscription_limit: integer(),
    webhook_concurrency: integer(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [index("applications_owner").on(table.owner_user_id)],
);

/** The order in which rows were made. */
const made = () => bigint({ mode: "number" }).generatedAlwaysAsIdentity().notNull();

const applicationId = () =>
  text()
    .notNull()
    .references(() => applications.id, { onDelete: "cascade" });

export const tokens = pgTable(
  "tokens",
  {
    hash: bytes().primaryKey(),
    made: made(),
    application_id: applicationId(),
    user_id: integer().references(() => users.id, { onDelete: "cascade" }),
    scopes: words<ScopeName>().notNull(),
    expires_at: integer().notNull(),
    /** Shared by what is revoked together: all that came of one authorization code, sessions of one application; else null. */
    family_id: text(),
  },
  (table) => [
    index("tokens_expiry").on(table.expires_at),
    index("tokens_application").on(table.application_id, table.expires_at),
    index("tokens_own").on(table.application_id, table.made).where(sql`${table.user_id} IS NULL`),
    index("tokens_user").on(table.user_id, table.application_id),
    index("tokens_family").on(table.family_id).where(sql`${table.family_id} IS NOT NULL`),
  ],
);

/** What is given on behalf of a user: it goes with the application and with the user. */
const onBehalf = () => ({
  application_id: applicationId(),
  user_id: integer()
    .notNull()
    .references(() => users.id, { onDelete: "cascade" }),
  scopes: words<ScopeName>().notNull(),
});

export const loginRequests = pgTable(
  "login_requests",
  {
    challenge_hash: bytes().primaryKey(),
    made: made(),
    browser_hash: bytes().notNull(),
    /** The network of the browser. */
    client: text().notNull(),
    application_id: applicationId(),
    redirect_uri: text().notNull(),
    scopes: words<ScopeName>().notNull(),
    state: text(),
    code_challenge: text().notNull(),
    expires_at: integer().notNull(),
    /** From here on: null until the platform has answered. */
    verifier_hash: bytes().unique(),
    answer: json<LoginAnswer>(),
    user_id: integer().references(() => users.id, { onDelete: "cascade" }),
  },
  (table) => [
    index("login_requests_expiry").on(table.expires_at),
    index("login_requests_application").on(table.application_id, table.made),
    index("login_requests_client").on(table.client, table.made),
    index("login_requests_user").on(table.user_id),
  ],
);

export const authorizationCodes = pgTable(
  "authorization_codes",
  {
    hash: bytes().primaryKey(),
    ...onBehalf(),
    redirect_uri: text().notNull(),
    code_challenge: text().notNull(),
    /** Of the tokens that come of it. */
    family_id: text().notNull(),
    expires_at: integer().notNull(),
    used_at: integer(),
  },
  (table) => [
    index("authorization_codes_expiry").on(table.expires_at),
    index("authorization_codes_application").on(table.application_id),
    index("authorization_codes_user").on(table.user_id, table.application_id),
  ],
);

export const refreshTokens = pgTable(
  "refresh_tokens",
  {
    hash: bytes().primaryKey(),
    ...onBehalf(),
    family_id: text().notNull(),
    expires_at: integer().notNull(),
    /** When it was first used; kept until it ends, so that its reuse is noticed. */
    rotated_at: integer(),
  },
  (table) => [
    index("refresh_tokens_expiry").on(table.expires_at),
    index("refresh_tokens_application").on(table.application_id),
    index("refresh_tokens_user").on(table.user_id, table.application_id),
    index("refresh_tokens_family").on(table.family_id),
  ],
);

export const consents = pgTable(
  "consents",
  {
    ...onBehalf(),
    scopes: words<Scope>().notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.user_id, table.application_id] }),
    index("consents_application").on(table.application_id),
  ],
);
