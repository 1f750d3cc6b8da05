import { boolean, index, pgTable, primaryKey, text, unique } from "drizzle-orm/pg-core";
import { applications } from "./access.ts";
import { integer, json } from "./columns.ts";
import { users } from "./platform.ts";

export const subscriptions = pgTable(
  "subscriptions",
  {
    id: text().primaryKey(),
    app_id: text()
      .notNull()
      .references(() => applications.id, { onDelete: "cascade" }),
    broadcaster_user_id: integer().references(() => users.id, { onDelete: "cascade" }),
    event: text().notNull(),
    version: integer().notNull(),
    /** Deliveries made for it so far: the last `Onair-Sequence`. No index has it, so that counting up touches none. */
    sequence: integer().notNull().default(0),
    /** The replica that has published the last of them. */
    published_by: integer(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [
    unique("subscriptions_key")
      .on(table.app_id, table.broadcaster_user_id, table.event, table.version)
      .nullsNotDistinct(),
    index("subscriptions_event").on(table.broadcaster_user_id, table.event, table.version),
    index("subscriptions_list").on(table.app_id, table.id),
  ],
);

/** The event types that operators registered. */
export const eventTypes = pgTable(
  "event_types",
  {
    name: text().notNull(),
    version: integer().notNull(),
    description: text().notNull(),
    /** JSON Schema of the payload. */
    schema: json<Readonly<Record<string, unknown>>>().notNull(),
    example: json<Readonly<Record<string, unknown>>>().notNull(),
    time_to_live_seconds: integer(),
    /** Whether an event of it was ever published. */
    is_published: boolean().notNull().default(false),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.name, table.version] })],
);
