import { sql } from "drizzle-orm";
import { blob, index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Tag } from "../../../domain/categories.ts";

// Times are milliseconds since the epoch where On Air reckons with them, ISO 8601 text where it only shows them.

export const users = sqliteTable(
  "users",
  {
    id: integer().primaryKey(),
    username: text().notNull(),
    display_name: text().notNull(),
    bio: text().notNull(),
    profile_picture: text(),
    followers_count: integer().notNull(),
    following_count: integer().notNull(),
    is_verified: integer({ mode: "boolean" }).notNull(),
    created_at: text().notNull(),
  },
  (table) => [uniqueIndex("users_username").on(sql`${table.username} COLLATE NOCASE`)],
);

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

export const categories = sqliteTable("categories", {
  id: integer().primaryKey(),
  name: text().notNull(),
  slug: text().notNull().unique(),
  icon: text(),
  banner: text(),
  description: text().notNull(),
  tags: text({ mode: "json" }).$type<readonly Tag[]>().notNull(),
});

export const channels = sqliteTable(
  "channels",
  {
    id: integer().primaryKey(),
    user_id: integer()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    slug: text().notNull().unique(),
    name: text().notNull(),
    profile_image: text(),
  },
  (table) => [index("channels_user").on(table.user_id)],
);

export const livestreams = sqliteTable(
  "livestreams",
  {
    channel_id: integer()
      .primaryKey()
      .references(() => channels.id, { onDelete: "cascade" }),
    category_id: integer()
      .notNull()
      .references(() => categories.id, { onDelete: "cascade" }),
    viewers: integer().notNull(),
    title: text().notNull(),
    language: text().notNull(),
    started_at: text().notNull(),
  },
  (table) => [index("livestreams_category").on(table.category_id)],
);
