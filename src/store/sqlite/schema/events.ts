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
import type { DeliveryStatus } from "../../../domain/deliveries.ts";
import {
  endpointColumns,
  eventTypeColumns,
  removedDeliveryColumns,
  replayColumns,
  subscriptionColumns,
} from "../../drizzle/columns/events.ts";
import { applications } from "./access.ts";
import { shared } from "./columns.ts";
import { users } from "./platform.ts";

/** id, application_id, subscription_id, sequence */
export type StagedDelivery = readonly [string, string, string, number];

const application = () => applications.id;

export const subscriptions = sqliteTable(
  "subscriptions",
  shared(subscriptionColumns, application, () => users.id),
  (table) => [
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
  ],
);

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
     * Text, or a packed blob if that is smaller (`sqlite/deliveries/bodies.ts`). Null without deliveries, or when
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

export const eventTypes = sqliteTable("event_types", shared(eventTypeColumns), (table) => [
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
    /** How many of the attempts were extra ones, which use up nothing of the retry schedule. */
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
    // Failed deliveries are rare, and most often searched for.
    index("deliveries_failed").on(table.application_id).where(sql`${table.status} IN ('failed', 'expired')`),
  ],
);

/**
 * Condition: the dispatcher has a delivery in memory. It has no parameters, because they would not match the partial
 * index.
 */
export const isHandedOut = sql`${deliveries.status} = 'pending' AND ${deliveries.next_attempt_at} IS NULL`;

/** Ignores canceled deliveries. */
export const removedDeliveries = sqliteTable(
  "removed_deliveries",
  shared(removedDeliveryColumns, application),
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
  // WITHOUT ROWID in the migration, which drizzle cannot express.
  (table) => [primaryKey({ columns: [table.delivery_seq, table.number] })],
);

export const endpoints = sqliteTable("endpoints", shared(endpointColumns, application));

export const replays = sqliteTable("replays", shared(replayColumns, application), (table) => [
  index("replays_application").on(table.application_id),
  index("replays_running").on(table.id).where(sql`${table.state} = 'running'`),
]);
