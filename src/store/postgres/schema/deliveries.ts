import { sql } from "drizzle-orm";
import { customType, index, pgSequence, pgTable, smallint, text } from "drizzle-orm/pg-core";
import type { Attempt, DeliveryStatus } from "../../../domain/deliveries.ts";
import { endpointColumns, removedDeliveryColumns, replayColumns } from "../../drizzle/columns/events.ts";
import { applications } from "./access.ts";
import { bytes, integer, kinds } from "./columns.ts";

/**
 * The order of publishing: events and deliveries take their numbers from here, ascending, with gaps. A transaction takes
 * them behind its locks, so those of a subscription ascend with its sequence.
 */
export const deliveryNumbers = pgSequence("delivery_numbers", { startWith: 1 });

/**
 * The parts into which the log of deliveries is divided: part n has the numbers from n * 2^28 on. A new one begins every
 * day, or every few days, so that retention drops what is old as a whole.
 */
export const deliveryParts = pgTable("delivery_parts", {
  part: integer().primaryKey(),
  begun_at: integer().notNull(),
  /** null for the one that is written to. */
  ended_at: integer(),
  /** From here on: when retention last removed from it what was old. */
  deliveries_cleaned_at: integer(),
  bodies_cleaned_at: integer(),
});

/** Up to which number was published when, once a minute: where a time is found in the log. */
export const deliveryTimes = pgTable("delivery_times", {
  at: integer().primaryKey(),
  seq: integer().notNull(),
});

/** The events of the last days by their id. They are in no parts, because an id must be unique in all of them. */
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

/** The bodies of events, in parts. What else is shown of an event is with its deliveries, which are kept for longer. */
export const events = pgTable("events", {
  seq: integer().primaryKey(),
  body: text().notNull(),
});

/** The driver reads `json[]` as an array of values. */
const attemptList = customType<{ data: Attempt[]; driverData: Attempt[] }>({ dataType: () => "json[]" });

/** Partitioned by number: see `deliveries/parts.ts`. */
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
    /** Outlives the subscription: the log still shows what was sent. */
    subscription_id: text().notNull(),
    sequence: integer().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    attempts: smallint().notNull().default(0),
    /** Of these, the ones that use up none of the retry schedule. */
    extra_attempts: smallint().notNull().default(0),
    /** While pending: 0 before the first attempt. Which ones are being sent is known to the owner of the endpoint alone. */
    next_attempt_at: integer(),
    /** While a person has asked for the next attempt: when the schedule goes on behind it. */
    resume_at: integer(),
    expires_at: integer(),
    finished_at: integer(),
    /** What came of each attempt, in order: part of the row, which is written again with each of them anyway. */
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
    // What went wrong is rare, the first that is asked for, and kept for longer than the rest.
    index("deliveries_failed")
      .on(table.application_id, table.seq)
      .where(sql`${table.status} IN ('failed', 'expired', 'canceled')`),
  ],
);

const application = () => applications.id;

export const removedDeliveries = pgTable("removed_deliveries", removedDeliveryColumns(kinds, application));

/**
 * Who sends: an application's endpoint belongs to a shard, and a shard to one process at a time. Each change of the owner
 * begins an epoch; what a process of an earlier one claims or records is refused.
 */
export const endpointShards = pgTable("endpoint_shards", {
  shard: smallint().primaryKey(),
  /** The id of a replica. */
  owner: integer(),
  epoch: integer().notNull().default(0),
});

/** The processes that serve this database: who is alive, by the database's clock. */
export const replicas = pgTable("replicas", {
  id: integer().primaryKey(),
  alive_until: integer().notNull(),
});

export const endpoints = pgTable("endpoints", endpointColumns(kinds, application));

export const replays = pgTable("replays", replayColumns(kinds, application), (table) => [
  index("replays_application").on(table.application_id),
  index("replays_running").on(table.id).where(sql`${table.state} = 'running'`),
]);
