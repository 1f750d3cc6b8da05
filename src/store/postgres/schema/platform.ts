import { sql } from "drizzle-orm";
import {
  boolean,
  doublePrecision,
  index,
  integer as int4,
  pgTable,
  smallint,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { Tag } from "../../../domain/categories.ts";
import { bytes, integer, json } from "./columns.ts";

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
    /** The names as the search compares them: see `search/terms.ts`. */
    folded: text().notNull(),
  },
  // Usernames are ASCII, whose case `lower` folds in every locale of the index's collation.
  (table) => [
    uniqueIndex("users_username").on(sql`lower(${table.username} COLLATE "C")`),
    // With `folded` included in the migration, which drizzle cannot say: a walk of the search reads nothing else.
    index("users_popularity").on(table.followers_count.desc(), table.id),
  ],
);

/** What the search finds users by. Apart from them, because follower counts change more often than names. */
export const userSearchTerms = pgTable(
  "user_search",
  {
    user_id: integer()
      .primaryKey()
      .references(() => users.id, { onDelete: "cascade" }),
    terms: int4().array().notNull(),
    /** By `onair_popularity`: more for who has many more followers, never less for who has more. */
    popularity: smallint().notNull(),
  },
  (table) => [index("user_search_terms").using("gin", table.terms)],
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

/** Orders in which walks through the categories began, by their moment. */
export const categoryOrders = pgTable(
  "category_orders",
  {
    /** Milliseconds since the epoch, and a fraction that tells replicas apart. */
    taken_at: doublePrecision().primaryKey(),
    content: bytes().notNull(),
    used_at: integer().notNull(),
  },
  (table) => [index("category_orders_use").on(table.used_at)],
);
