import { sql } from "drizzle-orm";
import {
  type AnyPgColumn,
  bigint,
  boolean,
  customType,
  doublePrecision,
  index,
  integer as int4,
  pgSequence,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { Attempt, DeliveryStatus } from "../domain/deliveries.ts";
import { commonColumns, type Kinds } from "../store/drizzle/columns.ts";

/** Integers up to 2^53-1: ids of the platform, counts, and milliseconds. */
const integer = () => bigint({ mode: "number" });

const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => "bytea" });

/** JSON exactly as it was stored. `jsonb` would change the order of keys, and refuses an escaped NUL. */
function json<T>() {
  // The driver converts values to JSON and back.
  return customType<{ data: T; driverData: unknown }>({
    dataType: () => "json",
    fromDriver: (value) => value as T,
    toDriver: (value) => value,
  })();
}

/** A list of words, such as scopes. */
function words<T extends string>() {
  return customType<{ data: readonly T[]; driverData: string[] }>({
    dataType: () => "text[]",
    fromDriver: (value) => value as T[],
    toDriver: (value) => [...value],
  })();
}

/** PostgreSQL's constructors of columns, for the tables in `store/drizzle/columns.ts`. */
const kinds: Kinds = {
  text,
  integer,
  boolean,
  bytes,
  json,
  words,
  /** A primary key that numbers the rows in the order of their insertion. */
  counter: () => bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
};

const columns = commonColumns(kinds, {
  user: (): AnyPgColumn => users.id,
  channel: (): AnyPgColumn => channels.id,
  category: (): AnyPgColumn => categories.id,
  application: (): AnyPgColumn => applications.id,
});

export const users = pgTable(
  "users",
  {
    ...columns.users,
    /** The case-folded names, which the search compares; see `search.ts`. */
    folded: text().notNull(),
  },
  // Usernames are ASCII, which `lower` folds with the collation "C".
  (table) => [
    uniqueIndex("users_username").on(sql`lower(${table.username} COLLATE "C")`),
    // The migration adds INCLUDE (folded), which drizzle cannot express.
    index("users_popularity").on(table.followers_count.desc().nullsFirst(), table.id),
  ],
);

/** The search terms of users. A table of its own, because follower counts change more often than names. */
export const userSearchTerms = pgTable(
  "user_search",
  {
    user_id: integer()
      .primaryKey()
      .references(() => users.id, { onDelete: "cascade" }),
    terms: int4().array().notNull(),
    /**
     * The follower count on a coarse logarithmic scale (`onair_popularity`); it never decreases with more followers.
     */
    popularity: smallint().notNull(),
  },
  (table) => [index("user_search_terms").using("gin", table.terms).with({ gin_pending_list_limit: 256 })],
);

export const tags = pgTable("tags", {
  id: integer().primaryKey(),
  name: text().notNull().unique(),
});

export const categories = pgTable("categories", columns.categories);

export const channels = pgTable("channels", columns.channels, (table) => [
  index("channels_user").on(table.user_id),
]);

export const livestreams = pgTable("livestreams", columns.livestreams, (table) => [
  index("livestreams_category").on(table.category_id),
]);

/** Snapshots of the order of categories, which cursors page through. */
export const categoryOrders = pgTable(
  "category_orders",
  {
    /** Milliseconds since the epoch, with a fraction that is different for each replica. */
    taken_at: doublePrecision().primaryKey(),
    content: bytes().notNull(),
    /** When it was last used. Snapshots are removed some time after that. */
    used_at: integer().notNull(),
  },
  (table) => [index("category_orders_use").on(table.used_at)],
);

/** Numbers the rows in the order of their insertion. */
const made = () => bigint({ mode: "number" }).generatedAlwaysAsIdentity().notNull();

export const applications = pgTable("applications", columns.applications, (table) => [
  index("applications_owner").on(table.owner_user_id),
]);

export const tokens = pgTable("tokens", { ...columns.tokens, made: made() }, (table) => [
  index("tokens_expiry").on(table.expires_at),
  index("tokens_application").on(table.application_id, table.expires_at),
  index("tokens_own").on(table.application_id, table.made).where(sql`${table.user_id} IS NULL`),
  index("tokens_user").on(table.user_id, table.application_id),
  index("tokens_family").on(table.family_id).where(sql`${table.family_id} IS NOT NULL`),
]);

export const loginRequests = pgTable("login_requests", columns.loginRequests, (table) => [
  index("login_requests_expiry").on(table.expires_at),
  index("login_requests_application").on(table.application_id),
  index("login_requests_user").on(table.user_id),
]);

export const authorizationCodes = pgTable("authorization_codes", columns.authorizationCodes, (table) => [
  index("authorization_codes_expiry").on(table.expires_at),
  index("authorization_codes_application").on(table.application_id),
  index("authorization_codes_user").on(table.user_id, table.application_id),
]);

export const refreshTokens = pgTable("refresh_tokens", columns.refreshTokens, (table) => [
  index("refresh_tokens_expiry").on(table.expires_at),
  index("refresh_tokens_application").on(table.application_id),
  index("refresh_tokens_user").on(table.user_id, table.application_id),
  index("refresh_tokens_of_family").on(table.family_id, table.expires_at),
]);

export const consents = pgTable("consents", columns.consents, (table) => [
  primaryKey({ columns: [table.user_id, table.application_id] }),
  index("consents_application").on(table.application_id),
]);

export const subscriptions = pgTable(
  "subscriptions",
  {
    ...columns.subscriptions,
    /** The number of the publisher, in one of the replicas, that has published its last delivery. */
    published_by: integer(),
  },
  (table) => [
    unique("subscriptions_key")
      .on(table.app_id, table.broadcaster_user_id, table.event, table.version)
      .nullsNotDistinct(),
    index("subscriptions_event").on(table.broadcaster_user_id, table.event, table.version),
    index("subscriptions_list").on(table.app_id, table.id),
  ],
);

export const eventTypes = pgTable("event_types", columns.eventTypes, (table) => [
  primaryKey({ columns: [table.name, table.version] }),
]);

/**
 * Numbers of events and deliveries, ascending in the order of publishing, with gaps. A transaction takes numbers after
 * its locks, so those of a subscription ascend with its sequence.
 */
export const deliveryNumbers = pgSequence("delivery_numbers", { startWith: 1 });

/**
 * The parts (partitions) of `deliveries` and `events`. Part n has the 2^28 numbers from n * 2^28. A new part begins
 * every few days, so that retention can drop old parts as a whole.
 */
export const deliveryParts = pgTable("delivery_parts", {
  part: integer().primaryKey(),
  begun_at: integer().notNull(),
  /** Null for the part that is being written. */
  ended_at: integer(),
  /** When retention last removed old deliveries, and old bodies, from the part. */
  deliveries_cleaned_at: integer(),
  bodies_cleaned_at: integer(),
});

/** The next number (`seq`) at a time (`at`), recorded at most once a minute. Used to find a time in the log. */
export const deliveryTimes = pgTable("delivery_times", {
  at: integer().primaryKey(),
  seq: integer().notNull(),
});

/** The ids of recent events. Not partitioned, because an id must be unique across all parts. */
export const eventIds = pgTable(
  "event_ids",
  {
    id: text().primaryKey(),
    seq: integer().notNull(),
    name: text().notNull(),
    version: integer().notNull(),
    broadcaster_user_id: integer().notNull(),
    published_at: integer().notNull(),
    fingerprint: bytes().notNull(),
    deliveries: integer().notNull(),
  },
  (table) => [index("event_ids_seq").on(table.seq)],
);

/**
 * The bodies of events, partitioned by number. All other columns of an event are in its deliveries, which are kept
 * longer.
 */
export const events = pgTable("events", {
  seq: integer().primaryKey(),
  body: text().notNull(),
});

/** The driver reads `json[]` as an array of values. */
const attemptList = customType<{ data: Attempt[]; driverData: Attempt[] }>({ dataType: () => "json[]" });

/** One row per event and subscription, partitioned by number; see `retention.ts`. */
export const deliveries = pgTable(
  "deliveries",
  {
    /** The order of publishing. */
    seq: integer().primaryKey(),
    id: text().notNull(),
    event_seq: integer().notNull(),
    event_id: text().notNull(),
    type: text().notNull(),
    version: integer().notNull(),
    broadcaster_user_id: integer().notNull(),
    published_at: integer().notNull(),
    application_id: text().notNull(),
    /** Not a foreign key: the delivery remains in the log when its subscription is removed. */
    subscription_id: text().notNull(),
    sequence: integer().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    attempts: smallint().notNull().default(0),
    /** How many of the attempts were extra ones, which use up nothing of the retry schedule. */
    extra_attempts: smallint().notNull().default(0),
    /**
     * While pending: 0 before the first attempt. Only the owner of the endpoint knows which deliveries are being sent.
     */
    next_attempt_at: integer(),
    /** When the retry schedule continues, if a person has asked for the next attempt. */
    resume_at: integer(),
    expires_at: integer(),
    finished_at: integer(),
    /** The results of all attempts, in order. Part of the row, because each attempt rewrites the row anyway. */
    attempt_log: attemptList().notNull().default([]),
  },
  (table) => [
    index("deliveries_id").on(table.id),
    index("deliveries_application").on(table.application_id, table.seq),
    index("deliveries_event").on(table.event_id),
    index("deliveries_due")
      .on(table.application_id, table.next_attempt_at, table.seq)
      .where(sql`${table.status} = 'pending'`),
    index("deliveries_backlog").on(table.subscription_id, table.seq).where(sql`${table.status} = 'pending'`),
    // These deliveries are rare, most often searched for, and kept longer than the others.
    index("deliveries_failed")
      .on(table.application_id, table.seq)
      .where(sql`${table.status} IN ('failed', 'expired', 'canceled')`),
  ],
);

export const removedDeliveries = pgTable("removed_deliveries", columns.removedDeliveries);

/**
 * The owners of shards. An application's endpoint belongs to a shard, and a shard to one process at a time, which
 * sends. Each change of the owner begins a new epoch. Claims and records of an earlier epoch are refused.
 */
export const endpointShards = pgTable("endpoint_shards", {
  shard: smallint().primaryKey(),
  /** The id of a replica. */
  owner: integer(),
  epoch: integer().notNull().default(0),
});

/** The processes that serve this database. Each is alive until `alive_until`, by the database's clock. */
export const replicas = pgTable("replicas", {
  id: integer().primaryKey(),
  alive_until: integer().notNull(),
});

export const endpoints = pgTable("endpoints", columns.endpoints);

export const replays = pgTable("replays", columns.replays, (table) => [
  index("replays_application").on(table.application_id),
  index("replays_running").on(table.id).where(sql`${table.state} = 'running'`),
]);

export const settings = pgTable("settings", columns.settings);

export const idempotencyKeys = pgTable("idempotency_keys", columns.idempotencyKeys, (table) => [
  index("idempotency_keys_age").on(table.first_seen_at),
]);

export const operatorKeys = pgTable("operator_keys", {
  ...columns.operatorKeys,
  name: text().notNull().unique(),
});

export const operatorSessions = pgTable("operator_sessions", columns.operatorSessions);

export const audit = pgTable("audit", columns.audit, (table) => [
  index("audit_at").on(table.at),
  index("audit_actor").on(table.actor_id, table.seq),
  index("audit_action").on(table.action, table.seq),
  index("audit_object").on(table.object, table.object_id, table.seq),
]);

export const notices = pgTable("notices", columns.notices, (table) => [
  index("notices_application").on(table.application_id, table.seq),
  index("notices_created").on(table.created_at),
  index("notices_due").on(table.next_attempt_at).where(sql`${table.status} = 'pending'`),
]);

export const applicationRequests = pgTable("application_requests", columns.applicationRequests);

export const statistics = pgTable("statistics", columns.statistics, (table) => [
  primaryKey({ columns: [table.kind, table.subject, table.period, table.at] }),
  index("statistics_period").on(table.period, table.at),
]);
