import { blob, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { ClientType, DeliveryMode, LockableField, RetiredSecret } from "../../../domain/applications.ts";
import type { LoginAnswer } from "../../../domain/authorizations.ts";
import type { Scope, ScopeName } from "../../../domain/tokens.ts";
import { users } from "./platform.ts";

// Times are milliseconds since the epoch where On Air reckons with them, ISO 8601 text where it only shows them.
// Scopes of tokens, and of what becomes tokens, are kept as they were asked for.

export const applications = sqliteTable(
  "applications",
  {
    id: text().primaryKey(),
    name: text().notNull(),
    client_type: text().$type<ClientType>().notNull().default("confidential"),
    /** Empty for a public client. */
    client_secret_hash: blob({ mode: "buffer" }).notNull(),
    delivery: text().$type<DeliveryMode>().notNull().default("webhook"),
    webhook_url: text(),
    webhook_secret: text().notNull(),
    retired_webhook_secrets: text({ mode: "json" }).$type<readonly RetiredSecret[]>().notNull().default([]),
    retired_client_secrets: text({ mode: "json" }).$type<readonly RetiredSecret[]>().notNull().default([]),
    /** null for secrets of an earlier version. */
    client_secret_prefix: text(),
    client_secret_created_at: integer(),
    webhook_secret_created_at: integer(),
    locked: text({ mode: "json" }).$type<readonly LockableField[]>().notNull().default([]),
    owner_user_id: integer().references(() => users.id, { onDelete: "set null" }),
    disabled: integer({ mode: "boolean" }).notNull().default(false),
    /** Counts up with each webhook URL, and each time a person enables the endpoint. */
    endpoint_generation: integer().notNull().default(0),
    scopes: text({ mode: "json" }).$type<readonly Scope[]>().notNull(),
    redirect_uris: text({ mode: "json" }).$type<readonly string[]>().notNull(),
    rate_limit: integer(),
    subscription_limit: integer(),
    webhook_concurrency: integer(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [index("applications_owner").on(table.owner_user_id)],
);

export const tokens = sqliteTable(
  "tokens",
  {
    hash: blob({ mode: "buffer" }).primaryKey(),
    application_id: text()
      .notNull()
      .references(() => applications.id, { onDelete: "cascade" }),
    user_id: integer().references(() => users.id, { onDelete: "cascade" }),
    scopes: text({ mode: "json" }).$type<readonly ScopeName[]>().notNull(),
    expires_at: integer().notNull(),
    /** Shared by what is revoked together: all that came of one authorization code, sessions of one application; else null. */
    family_id: text(),
  },
  (table) => [
    index("tokens_expiry").on(table.expires_at),
    // Those of the application itself, which have no user, stand together in the order in which they were made.
    index("tokens_application").on(table.application_id, table.user_id),
    index("tokens_user").on(table.user_id),
    index("tokens_family").on(table.family_id),
  ],
);

/** What is given on behalf of a user: it goes with the application and with the user. */
const onBehalf = () => ({
  application_id: text()
    .notNull()
    .references(() => applications.id, { onDelete: "cascade" }),
  user_id: integer()
    .notNull()
    .references(() => users.id, { onDelete: "cascade" }),
  scopes: text({ mode: "json" }).$type<readonly ScopeName[]>().notNull(),
});

export const loginRequests = sqliteTable(
  "login_requests",
  {
    challenge_hash: blob({ mode: "buffer" }).primaryKey(),
    browser_hash: blob({ mode: "buffer" }).notNull(),
    /** The network of the browser; null for requests of an older version. */
    client: text(),
    application_id: text()
      .notNull()
      .references(() => applications.id, { onDelete: "cascade" }),
    redirect_uri: text().notNull(),
    scopes: text({ mode: "json" }).$type<readonly ScopeName[]>().notNull(),
    state: text(),
    code_challenge: text().notNull(),
    expires_at: integer().notNull(),
    /** From here on: null until the platform has answered. */
    verifier_hash: blob({ mode: "buffer" }).unique(),
    answer: text({ mode: "json" }).$type<LoginAnswer>(),
    user_id: integer().references(() => users.id, { onDelete: "cascade" }),
  },
  (table) => [
    index("login_requests_expiry").on(table.expires_at),
    index("login_requests_application").on(table.application_id),
    index("login_requests_client").on(table.client),
    index("login_requests_user").on(table.user_id),
  ],
);

export const authorizationCodes = sqliteTable(
  "authorization_codes",
  {
    hash: blob({ mode: "buffer" }).primaryKey(),
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
    index("authorization_codes_user").on(table.user_id),
  ],
);

export const refreshTokens = sqliteTable(
  "refresh_tokens",
  {
    hash: blob({ mode: "buffer" }).primaryKey(),
    ...onBehalf(),
    family_id: text().notNull(),
    expires_at: integer().notNull(),
    /** When it was first used; kept until it ends, so that its reuse is noticed. */
    rotated_at: integer(),
  },
  (table) => [
    index("refresh_tokens_expiry").on(table.expires_at),
    index("refresh_tokens_application").on(table.application_id),
    index("refresh_tokens_user").on(table.user_id),
    index("refresh_tokens_family").on(table.family_id),
  ],
);

export const consents = sqliteTable(
  "consents",
  {
    ...onBehalf(),
    scopes: text({ mode: "json" }).$type<readonly Scope[]>().notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.user_id, table.application_id] }),
    index("consents_application").on(table.application_id),
  ],
);
