import {
  type AnyColumn,
  type ColumnBuilderBase,
  inArray,
  type Placeholder,
  type SQL,
  sql,
} from "drizzle-orm";
import {
  type AnySQLiteColumn,
  blob,
  index,
  integer,
  primaryKey,
  real,
  type SQLiteTable,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { DeliveryStatus, FailedExchange } from "../../domain/deliveries.ts";
import { type CommonColumns, commonColumns, type Kinds, type Referred } from "../drizzle/columns.ts";
import { columnsOf } from "../drizzle/dialect.ts";

/** SQLite's constructors of columns, for the tables in `store/drizzle/columns.ts`. */
const kinds = {
  text,
  integer: () => integer(),
  boolean: () => integer({ mode: "boolean" }),
  bytes: () => blob({ mode: "buffer" }),
  json: () => text({ mode: "json" }),
  words: () => text({ mode: "json" }),
  counter: () => integer().primaryKey({ autoIncrement: true }),
} satisfies { readonly [Kind in keyof Kinds]: unknown };

/** The same columns with SQLite's types. */
type InSqlite<Columns> = {
  [Name in keyof Columns]: Columns[Name] extends ColumnBuilderBase
    ? Omit<Columns[Name], "_"> & { _: Omit<Columns[Name]["_"], "dialect"> & { dialect: "sqlite" } }
    : InSqlite<Columns[Name]>;
};

// A boundary: `Kinds` has PostgreSQL's types. SQLite's constructors make columns with the same values.
const sqliteColumns = commonColumns as unknown as (
  of: typeof kinds,
  to: Referred<AnySQLiteColumn>,
) => InSqlite<CommonColumns>;

const columns = sqliteColumns(kinds, {
  user: (): AnySQLiteColumn => users.id,
  channel: (): AnySQLiteColumn => channels.id,
  category: (): AnySQLiteColumn => categories.id,
  application: (): AnySQLiteColumn => applications.id,
});

type ColumnsOf<Table extends SQLiteTable> = Table["_"]["columns"];

/** Returns the values of a prepared insert: for each column of a table a placeholder with the column's name. */
export function placeholders<Table extends SQLiteTable>(
  table: Table,
): { [Name in keyof ColumnsOf<Table>]: Placeholder } {
  const values = columnsOf(table).map(([name]) => [name, sql.placeholder(name)]);
  // Object.fromEntries loses the names.
  return Object.fromEntries(values) as { [Name in keyof ColumnsOf<Table>]: Placeholder };
}

/** Condition: a column has one of the values in a JSON array. */
export function isOneOf(column: AnyColumn, values: Placeholder | SQL): SQL {
  return inArray(column, sql`(SELECT value FROM json_each(${values}))`);
}

export const users = sqliteTable("users", columns.users, (table) => [
  uniqueIndex("users_username").on(sql`${table.username} COLLATE NOCASE`),
]);

/**
 * Statistics of the search, one row. The search index itself has no drizzle schema; its layout is described in
 * `search.ts`.
 */
export const searchStatistics = sqliteTable("search_statistics", {
  id: integer().primaryKey(),
  /** Incremented with each write. */
  revision: integer().notNull(),
  trigram_counts: blob({ mode: "buffer" }).notNull(),
});

export const tags = sqliteTable("tags", {
  id: integer().primaryKey({ autoIncrement: true }),
  name: text().notNull().unique(),
});

export const categories = sqliteTable("categories", columns.categories);

export const channels = sqliteTable("channels", columns.channels, (table) => [
  index("channels_user").on(table.user_id),
]);

export const livestreams = sqliteTable("livestreams", columns.livestreams, (table) => [
  index("livestreams_category").on(table.category_id),
]);

export const applications = sqliteTable("applications", columns.applications, (table) => [
  index("applications_owner").on(table.owner_user_id),
]);

export const tokens = sqliteTable("tokens", columns.tokens, (table) => [
  index("tokens_expiry").on(table.expires_at),
  // Entries without a user, the application's own tokens, are adjacent and ordered by rowid, the order of insertion.
  index("tokens_application").on(table.application_id, table.user_id),
  index("tokens_user").on(table.user_id),
  index("tokens_family").on(table.family_id),
]);

export const loginRequests = sqliteTable("login_requests", columns.loginRequests, (table) => [
  index("login_requests_expiry").on(table.expires_at),
  index("login_requests_application").on(table.application_id),
  index("login_requests_user").on(table.user_id),
]);

export const authorizationCodes = sqliteTable("authorization_codes", columns.authorizationCodes, (table) => [
  index("authorization_codes_expiry").on(table.expires_at),
  index("authorization_codes_application").on(table.application_id),
  index("authorization_codes_user").on(table.user_id),
]);

export const refreshTokens = sqliteTable("refresh_tokens", columns.refreshTokens, (table) => [
  index("refresh_tokens_expiry").on(table.expires_at),
  index("refresh_tokens_application").on(table.application_id),
  index("refresh_tokens_user").on(table.user_id),
  index("refresh_tokens_of_family").on(table.family_id, table.expires_at),
]);

export const consents = sqliteTable("consents", columns.consents, (table) => [
  primaryKey({ columns: [table.user_id, table.application_id] }),
  index("consents_application").on(table.application_id),
]);

/** id, application_id, subscription_id, sequence */
export type StagedDelivery = readonly [string, string, string, number];

export const subscriptions = sqliteTable("subscriptions", columns.subscriptions, (table) => [
  // 0 represents "no broadcaster", because a unique index treats all NULLs as distinct.
  uniqueIndex("subscriptions_key").on(
    table.app_id,
    sql`ifnull(${table.broadcaster_user_id}, 0)`,
    table.event,
    table.version,
  ),
  index("subscriptions_event").on(table.broadcaster_user_id, table.event, table.version),
  // Covers all columns of a list. The rows of an application are scattered over the table, one page each.
  index("subscriptions_list").on(
    table.app_id,
    table.id,
    table.broadcaster_user_id,
    table.event,
    table.version,
    table.created_at,
    table.updated_at,
  ),
]);

/** The number of subscriptions of each application. Triggers maintain it, so it is correct after any change. */
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
    /**
     * Text, or a packed blob if that is smaller (`delivery-rows.ts`). Null without deliveries, or when
     * removed.
     */
    body: text(),
    /** SHA-256 of the event, to tell a repetition from another event with the same id. */
    fingerprint: blob({ mode: "buffer" }).notNull(),
    /** The number (`seq`) of its first delivery. The numbers of an event have no gaps. */
    first_delivery: integer().notNull(),
    deliveries: integer().notNull(),
    published_at: integer().notNull(),
  },
  (table) => [index("events_published").on(table.published_at)],
);

/**
 * Events that were published and not yet moved into `events` and `deliveries`: rows with a higher `seq` than all of
 * `events`. The other rows are unused remains of events that were moved.
 */
export const stagedEvents = sqliteTable("staged_events", {
  /** The slot: `seq` modulo 256. Slots are reused in turn, so that publishing an event writes one page. */
  place: integer().primaryKey(),
  seq: integer().notNull(),
  id: text().notNull(),
  name: text().notNull(),
  version: integer().notNull(),
  broadcaster_user_id: integer().notNull(),
  body: text().notNull(),
  fingerprint: blob({ mode: "buffer" }).notNull(),
  published_at: integer().notNull(),
  expires_at: integer(),
  first_delivery: integer().notNull(),
  /** The id, application, subscription and sequence of each delivery. The dispatcher has all of them in memory. */
  deliveries: text({ mode: "json" }).$type<readonly StagedDelivery[]>().notNull(),
});

export const eventTypes = sqliteTable("event_types", columns.eventTypes, (table) => [
  primaryKey({ columns: [table.name, table.version] }),
]);

/** The index `deliveries_application` has regions of 2^12 consecutive deliveries. */
export const deliveryRegionBits = 12;

/**
 * One row per event and subscription. All indexes are written at their end or in a small region: a fan-out that wrote
 * one page per subscriber would write far more than it stores.
 */
export const deliveries = sqliteTable(
  "deliveries",
  {
    /** The order of publishing. */
    seq: integer().primaryKey(),
    id: text().notNull().unique(),
    event_seq: integer().notNull(),
    application_id: text().notNull(),
    /** Not a foreign key: the delivery remains in the log when its subscription is removed. */
    subscription_id: text().notNull(),
    sequence: integer().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    attempts: integer().notNull(),
    /** The number of extra attempts, which use up nothing of the retry schedule. */
    extra_attempts: integer().notNull().default(0),
    /** While pending: 0 before the first attempt, null when the dispatcher has the delivery in memory. */
    next_attempt_at: integer(),
    /** When the retry schedule continues, if a person has asked for the next attempt. */
    resume_at: integer(),
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
    // Failed deliveries are rare, and most often searched for. SQLite would make a temporary table of three values or
    // more at each change of a row.
    index("deliveries_failed")
      .on(table.application_id)
      .where(sql`${table.status} NOT IN ('pending', 'delivered')`),
  ],
);

/**
 * Condition: the dispatcher has a delivery in memory. It has no parameters, because they would not match the partial
 * index.
 */
export const isHandedOut = sql`${deliveries.status} = 'pending' AND ${deliveries.next_attempt_at} IS NULL`;

/** Ignores canceled deliveries. */
export const removedDeliveries = sqliteTable("removed_deliveries", columns.removedDeliveries);

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
    generation: integer().notNull(),
    exchange: text({ mode: "json" }).$type<FailedExchange>(),
  },
  // WITHOUT ROWID in the migration, which drizzle cannot express.
  (table) => [primaryKey({ columns: [table.delivery_seq, table.number] })],
);

export const endpoints = sqliteTable("endpoints", columns.endpoints);

export const replays = sqliteTable("replays", columns.replays, (table) => [
  index("replays_application").on(table.application_id),
  index("replays_running").on(table.id).where(sql`${table.state} = 'running'`),
]);

export const settings = sqliteTable("settings", columns.settings);

export const idempotencyKeys = sqliteTable("idempotency_keys", columns.idempotencyKeys, (table) => [
  index("idempotency_keys_age").on(table.first_seen_at),
]);

export const operatorKeys = sqliteTable("operator_keys", columns.operatorKeys);

export const operatorSessions = sqliteTable("operator_sessions", columns.operatorSessions);

export const audit = sqliteTable("audit", columns.audit, (table) => [
  index("audit_at").on(table.at),
  index("audit_actor").on(table.actor_id),
  index("audit_action").on(table.action),
  index("audit_object").on(table.object, table.object_id),
]);

export const notices = sqliteTable("notices", columns.notices, (table) => [
  index("notices_application").on(table.application_id),
  index("notices_created").on(table.created_at),
  index("notices_due").on(table.next_attempt_at).where(sql`${table.status} = 'pending'`),
]);

export const applicationRequests = sqliteTable("application_requests", columns.applicationRequests);

export const statistics = sqliteTable("statistics", columns.statistics, (table) => [
  primaryKey({ columns: [table.kind, table.subject, table.period, table.at] }),
  index("statistics_period").on(table.period, table.at),
]);
