import { sql } from "drizzle-orm";
import { blob, index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import {
  categoryColumns,
  channelColumns,
  livestreamColumns,
  userColumns,
} from "../../drizzle/columns/platform.ts";
import { shared } from "./columns.ts";

export const users = sqliteTable("users", shared(userColumns), (table) => [
  uniqueIndex("users_username").on(sql`${table.username} COLLATE NOCASE`),
]);

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

export const categories = sqliteTable("categories", shared(categoryColumns));

export const channels = sqliteTable(
  "channels",
  shared(channelColumns, () => users.id),
  (table) => [index("channels_user").on(table.user_id)],
);

export const livestreams = sqliteTable(
  "livestreams",
  shared(
    livestreamColumns,
    () => channels.id,
    () => categories.id,
  ),
  (table) => [index("livestreams_category").on(table.category_id)],
);
