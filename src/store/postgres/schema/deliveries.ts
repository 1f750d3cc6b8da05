import { sql } from "drizzle-orm";
import { customType, index, pgSequence, pgTable, smallint, text } from "drizzle-orm/pg-core";
import type { Attempt, DeliveryStatus } from "../../../domain/deliveries.ts";
import { endpointColumns, removedDeliveryColumns, replayColumns } from "../../drizzle/columns/events.ts";
import { applications } from "./access.ts";
import { bytes, integer, kinds } from "./columns.ts";

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

/** One row per event and subscription, partitioned by number; see `deliveries/parts.ts`. */
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

const application = () => applications.id;

export const removedDeliveries = pgTable("removed_deliveries", removedDeliveryColumns(kinds, application));

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

export const endpoints = pgTable("endpoints", endpointColumns(kinds, application));

export const replays = pgTable("replays", replayColumns(kinds, application), (table) => [
  index("replays_application").on(table.application_id),
  index("replays_running").on(table.id).where(sql`${table.state} = 'running'`),
]);
