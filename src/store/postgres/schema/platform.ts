import { sql } from "drizzle-orm";
import {
  doublePrecision,
  index,
  integer as int4,
  pgTable,
  smallint,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import {
  categoryColumns,
  channelColumns,
  livestreamColumns,
  userColumns,
} from "../../drizzle/columns/platform.ts";
import { bytes, integer, kinds } from "./columns.ts";

export const users = pgTable(
  "users",
  {
    ...userColumns(kinds),
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

export const categories = pgTable("categories", categoryColumns(kinds));

export const channels = pgTable(
  "channels",
  channelColumns(kinds, () => users.id),
  (table) => [index("channels_user").on(table.user_id)],
);

export const livestreams = pgTable(
  "livestreams",
  livestreamColumns(
    kinds,
    () => channels.id,
    () => categories.id,
  ),
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
