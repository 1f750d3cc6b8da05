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
