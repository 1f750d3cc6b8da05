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
    /** Packed where that is smaller (`store/sqlite/deliveries/bodies.ts`); null where it has no deliveries, or is no longer kept. */
    body: text(),
    fingerprint: blob({ mode: "buffer" }).notNull(),
    /** Its deliveries have the numbers from this one on, without a gap. */
    first_delivery: integer().notNull(),
    deliveries: integer().notNull(),
    published_at: integer().notNull(),
  },
  (table) => [index("events_published").on(table.published_at)],
);

/**
 * Events that were published and are not moved into `events` and `deliveries` yet: those behind the last of `events`. The
 * others are what was in their place before.
 */
export const stagedEvents = sqliteTable("staged_events", {
  /** Places are used in turn, so that what is published changes one page. */
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
  /** Of each delivery its id, application, subscription and sequence; the dispatcher has them all in memory. */
  deliveries: text({ mode: "json" }).$type<readonly StagedDelivery[]>().notNull(),
});

export const eventTypes = sqliteTable("event_types", shared(eventTypeColumns), (table) => [
  primaryKey({ columns: [table.name, table.version] }),
]);

/** How many deliveries share one region of `deliveries_application`: 2 to the power of this. */
export const deliveryRegionBits = 12;

/**
 * All indexes of this table are written to at their right end or in a small region, because a fan-out that touched one
 * page for each subscriber would write far more than it keeps.
 */
export const deliveries = sqliteTable(
  "deliveries",
  {
    /** The order of publishing. */
    seq: integer().primaryKey(),
    id: text().notNull().unique(),
    event_seq: integer().notNull(),
    application_id: text().notNull(),
    /** Outlives the subscription: the log still shows what was sent. */
    subscription_id: text().notNull(),
    sequence: integer().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    attempts: integer().notNull(),
    /** Of these, the ones that use up none of the retry schedule. */
    extra_attempts: integer().notNull().default(0),
    /** While pending: null when the dispatcher has it in memory, 0 before the first attempt. */
    next_attempt_at: integer(),
    /** While a person has asked for the next attempt: when the schedule goes on behind it. */
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
    // What went wrong is rare, and the first that is asked for.
    index("deliveries_failed").on(table.application_id).where(sql`${table.status} IN ('failed', 'expired')`),
  ],
);

/** Which deliveries the dispatcher has in memory: as the partial index says it, because a parameter would not match that. */
export const isHandedOut = sql`${deliveries.status} = 'pending' AND ${deliveries.next_attempt_at} IS NULL`;

/** Those that were canceled are not counted. */
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
  // WITHOUT ROWID in the migration, which drizzle cannot say.
  (table) => [primaryKey({ columns: [table.delivery_seq, table.number] })],
);

export const endpoints = sqliteTable("endpoints", shared(endpointColumns, application));

export const replays = sqliteTable("replays", shared(replayColumns, application), (table) => [
  index("replays_application").on(table.application_id),
  index("replays_running").on(table.id).where(sql`${table.state} = 'running'`),
]);
