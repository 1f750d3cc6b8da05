import { sql } from "drizzle-orm";
import {
  blob,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { ClientType, DeliveryMode, RetiredSecret } from "../../domain/applications.ts";
import type { LoginAnswer } from "../../domain/authorizations.ts";
import type { Tag } from "../../domain/categories.ts";
import type { DeliveryStatus } from "../../domain/deliveries.ts";
import type { DisabledReason } from "../../domain/endpoints.ts";
import type { ReplayState } from "../../domain/replays.ts";
import type { Scope } from "../../domain/tokens.ts";

// After a change: `bun run migration` writes the next file of drizzle/, which src/store/sqlite/migrations.ts lists.
// Times are milliseconds since the epoch where On Air reckons with them, ISO 8601 text where it only shows them.

export const settings = sqliteTable("settings", {
  key: text().primaryKey(),
  value: text().notNull(),
});

export const users = sqliteTable(
  "users",
  {
    id: integer().primaryKey(),
    username: text().notNull(),
    display_name: text().notNull(),
    bio: text().notNull(),
    profile_picture: text(),
    followers_count: integer().notNull(),
    following_count: integer().notNull(),
    is_verified: integer({ mode: "boolean" }).notNull(),
    created_at: text().notNull(),
  },
  (table) => [uniqueIndex("users_username").on(sql`${table.username} COLLATE NOCASE`)],
);

/** What helps the search; `search.ts` says how its index is laid out, which has no schema here. */
export const searchStatistics = sqliteTable("search_statistics", {
  id: integer().primaryKey(),
  /** Counts how often it was written. */
  revision: integer().notNull(),
  trigram_counts: blob({ mode: "buffer" }).notNull(),
});

export const tags = sqliteTable("tags", {
  id: integer().primaryKey({ autoIncrement: true }),
  name: text().notNull().unique(),
});

export const categories = sqliteTable("categories", {
  id: integer().primaryKey(),
  name: text().notNull(),
  slug: text().notNull().unique(),
  icon: text(),
  banner: text(),
  description: text().notNull(),
  tags: text({ mode: "json" }).$type<readonly Tag[]>().notNull(),
});

export const channels = sqliteTable(
  "channels",
  {
    id: integer().primaryKey(),
    user_id: integer()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    slug: text().notNull().unique(),
    name: text().notNull(),
    profile_image: text(),
  },
  (table) => [index("channels_user").on(table.user_id)],
);

export const livestreams = sqliteTable(
  "livestreams",
  {
    channel_id: integer()
      .primaryKey()
      .references(() => channels.id, { onDelete: "cascade" }),
    category_id: integer()
      .notNull()
      .references(() => categories.id, { onDelete: "cascade" }),
    viewers: integer().notNull(),
    title: text().notNull(),
    language: text().notNull(),
    started_at: text().notNull(),
  },
  (table) => [index("livestreams_category").on(table.category_id)],
);

export const applications = sqliteTable("applications", {
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
  disabled: integer({ mode: "boolean" }).notNull().default(false),
  scopes: text({ mode: "json" }).$type<readonly Scope[]>().notNull(),
  redirect_uris: text({ mode: "json" }).$type<readonly string[]>().notNull(),
  rate_limit: integer(),
  subscription_limit: integer(),
  created_at: text().notNull(),
  updated_at: text().notNull(),
});

export const tokens = sqliteTable(
  "tokens",
  {
    hash: blob({ mode: "buffer" }).primaryKey(),
    application_id: text()
      .notNull()
      .references(() => applications.id, { onDelete: "cascade" }),
    user_id: integer().references(() => users.id, { onDelete: "cascade" }),
    scopes: text({ mode: "json" }).$type<readonly Scope[]>().notNull(),
    expires_at: integer().notNull(),
    /** Shared by all that came of one authorization code, and revoked together; null for tokens of applications. */
    family_id: text(),
  },
  (table) => [
    index("tokens_expiry").on(table.expires_at),
    index("tokens_application").on(table.application_id),
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
  scopes: text({ mode: "json" }).$type<readonly Scope[]>().notNull(),
});

export const loginRequests = sqliteTable(
  "login_requests",
  {
    challenge_hash: blob({ mode: "buffer" }).primaryKey(),
    browser_hash: blob({ mode: "buffer" }).notNull(),
    application_id: text()
      .notNull()
      .references(() => applications.id, { onDelete: "cascade" }),
    redirect_uri: text().notNull(),
    scopes: text({ mode: "json" }).$type<readonly Scope[]>().notNull(),
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
  { ...onBehalf(), created_at: text().notNull(), updated_at: text().notNull() },
  (table) => [
    primaryKey({ columns: [table.user_id, table.application_id] }),
    index("consents_application").on(table.application_id),
  ],
);

export const subscriptions = sqliteTable(
  "subscriptions",
  {
    id: text().primaryKey(),
    app_id: text()
      .notNull()
      .references(() => applications.id, { onDelete: "cascade" }),
    broadcaster_user_id: integer().references(() => users.id, { onDelete: "cascade" }),
    event: text().notNull(),
    version: integer().notNull(),
    /** Deliveries made for it so far: the last `Onair-Sequence`. */
    sequence: integer().notNull().default(0),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [
    // 0 stands for "no broadcaster", because NULLs would all be distinct.
    uniqueIndex("subscriptions_key").on(
      table.app_id,
      sql`ifnull(${table.broadcaster_user_id}, 0)`,
      table.event,
      table.version,
    ),
    index("subscriptions_event").on(table.broadcaster_user_id, table.event, table.version),
    // All that a list shows: an application's rows lie anywhere in the table, and its list would read a page for each.
    index("subscriptions_list").on(
      table.app_id,
      table.id,
      table.broadcaster_user_id,
      table.event,
      table.version,
      table.created_at,
      table.updated_at,
    ),
  ],
);

/** How many each application has, kept by triggers, so that it is right whatever makes or removes them. */
export const subscriptionCounts = sqliteTable("subscription_counts", {
  application_id: text()
    .primaryKey()
    .references(() => applications.id, { onDelete: "cascade" }),
  subscriptions: integer().notNull(),
});

export const events = sqliteTable(
  "events",
  {
    /** The order of publishing. */
    seq: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    name: text().notNull(),
    version: integer().notNull(),
    broadcaster_user_id: integer().notNull(),
    /** null when it is no longer kept. */
    body: text(),
    fingerprint: blob({ mode: "buffer" }).notNull(),
    /** Its deliveries have the numbers from this one on, without a gap. */
    first_delivery: integer().notNull(),
    deliveries: integer().notNull(),
    published_at: integer().notNull(),
  },
  (table) => [index("events_published").on(table.published_at)],
);

/** The event types that operators registered. */
export const eventTypes = sqliteTable(
  "event_types",
  {
    name: text().notNull(),
    version: integer().notNull(),
    description: text().notNull(),
    /** JSON Schema of the payload. */
    schema: text({ mode: "json" }).$type<Readonly<Record<string, unknown>>>().notNull(),
    example: text({ mode: "json" }).$type<Readonly<Record<string, unknown>>>().notNull(),
    time_to_live_seconds: integer(),
    /** Whether an event of it was ever published. */
    is_published: integer({ mode: "boolean" }).notNull().default(false),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.name, table.version] })],
);

/** How many deliveries share one region of `deliveries_application`: 2 to the power of this. */
export const deliveryRegionBits = 12;

/**
 * All indexes of this table are written to at their right end or in a small region, because a fan-out that touched one
 * page for each subscriber would write a hundred times as much as it keeps.
 */
export const deliveries = sqliteTable(
  "deliveries",
  {
    /** The order of publishing. */
    seq: integer().primaryKey(),
    id: text().notNull().unique(),
    event_seq: integer().notNull(),
    application_id: text().notNull(),
    /** Outlives the subscription: what was sent can still be told. */
    subscription_id: text().notNull(),
    sequence: integer().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    attempts: integer().notNull(),
    /** While pending: null when the dispatcher has it in memory, 0 before the first attempt. */
    next_attempt_at: integer(),
    expires_at: integer(),
    finished_at: integer(),
  },
  (table) => [
    index("deliveries_due")
      .on(table.application_id, table.next_attempt_at)
      .where(sql`${table.next_attempt_at} IS NOT NULL`),
    index("deliveries_handed_out")
      .on(table.seq)
      .where(sql`${table.status} = 'pending' AND ${table.next_attempt_at} IS NULL`),
    index("deliveries_application").on(
      sql`${table.seq} >> ${sql.raw(String(deliveryRegionBits))}`,
      table.application_id,
      table.subscription_id,
    ),
    // What went wrong is rare, and the first that is asked for.
    index("deliveries_failed").on(table.application_id).where(sql`${table.status} IN ('failed', 'expired')`),
  ],
);

export const attempts = sqliteTable(
  "attempts",
  {
    delivery_seq: integer().notNull(),
    number: integer().notNull(),
    at: integer().notNull(),
    outcome: text().notNull(),
    status: integer(),
    duration_ms: integer().notNull(),
    dns_ms: real(),
    connect_ms: real(),
    tls_ms: real(),
    first_byte_ms: real(),
    error: text(),
    response: text().notNull(),
  },
  // WITHOUT ROWID in the migration, which drizzle cannot say.
  (table) => [primaryKey({ columns: [table.delivery_seq, table.number] })],
);

/** Requests of the admin API that came with an `Idempotency-Key`. */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    key: text().primaryKey(),
    /** Tells the same request again from another one under the same key. */
    fingerprint: blob({ mode: "buffer" }).notNull(),
    first_seen_at: integer().notNull(),
    /** The status and body of its answer; null as long as there is none. */
    status: integer(),
    answer: text(),
  },
  (table) => [index("idempotency_keys_age").on(table.first_seen_at)],
);

export const endpoints = sqliteTable("endpoints", {
  application_id: text()
    .primaryKey()
    .references(() => applications.id, { onDelete: "cascade" }),
  failing_since: integer(),
  failures: integer().notNull(),
  warned_at: integer(),
  disabled_at: integer(),
  disabled_reason: text().$type<DisabledReason>(),
  last_success_at: integer(),
  last_failure_at: integer(),
  last_failure_status: integer(),
  last_failure_error: text(),
});

export const replays = sqliteTable(
  "replays",
  {
    id: text().primaryKey(),
    application_id: text()
      .notNull()
      .references(() => applications.id, { onDelete: "cascade" }),
    broadcaster_user_id: integer(),
    subscription_id: text(),
    status: text().$type<DeliveryStatus>(),
    type: text(),
    from_at: integer().notNull(),
    to_at: integer().notNull(),
    dry_run: integer({ mode: "boolean" }).notNull(),
    state: text().$type<ReplayState>().notNull(),
    /** The deliveries of the range have these numbers, the last one not included; settled when it is made. */
    first: integer().notNull(),
    end: integer().notNull(),
    /** The number of the first one that was not looked at yet. */
    position: integer().notNull(),
    matched: integer().notNull().default(0),
    queued: integer().notNull().default(0),
    skipped_body: integer().notNull().default(0),
    skipped_subscription: integer().notNull().default(0),
    skipped_attempts: integer().notNull().default(0),
    created_at: integer().notNull(),
    finished_at: integer(),
  },
  (table) => [
    index("replays_application").on(table.application_id),
    index("replays_running").on(table.id).where(sql`${table.state} = 'running'`),
  ],
);
