import { sql } from "drizzle-orm";
import { boolean, index, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core";
import type { Tag } from "../../../domain/categories.ts";
import { integer, json } from "./columns.ts";

export const users = pgTable(
  "users",
  {
    id: integer().primaryKey(),
    username: text().notNull(),
    display_name: text().notNull(),
    bio: text().notNull(),
    profile_picture: text(),
    followers_count: integer().notNull(),
    following_count: integer().notNull(),
    is_verified: boolean().notNull(),
    created_at: text().notNull(),
  },
  // Usernames are ASCII, whose case `lower` folds in every locale of the index's collation.
  (table) => [uniqueIndex("users_username").on(sql`lower(${table.username} COLLATE "C")`)],
);

export const tags = pgTable("tags", {
  id: integer().primaryKey(),
  name: text().notNull().unique(),
});

export const categories = pgTable("categories", {
  id: integer().primaryKey(),
  name: text().notNull(),
  slug: text().notNull().unique(),
  icon: text(),
  banner: text(),
  description: text().notNull(),
  tags: json<readonly Tag[]>().notNull(),
});

export const channels = pgTable(
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

export const livestreams = pgTable(
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
