import { index, pgTable, primaryKey, unique } from "drizzle-orm/pg-core";
import { eventTypeColumns, subscriptionColumns } from "../../drizzle/columns/events.ts";
import { applications } from "./access.ts";
import { integer, kinds } from "./columns.ts";
import { users } from "./platform.ts";

export const subscriptions = pgTable(
  "subscriptions",
  {
    ...subscriptionColumns(
      kinds,
      () => applications.id,
      () => users.id,
    ),
    /** The replica that has published its last delivery. */
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

export const eventTypes = pgTable("event_types", eventTypeColumns(kinds), (table) => [
  primaryKey({ columns: [table.name, table.version] }),
]);
