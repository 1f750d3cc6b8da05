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
    /** The case-folded names, which the search compares; see `search/terms.ts`. */
    folded: text().notNull(),
  },
  // Usernames are ASCII, which `lower` folds with the collation "C".
  (table) => [
    uniqueIndex("users_username").on(sql`lower(${table.username} COLLATE "C")`),
    // The migration adds INCLUDE (folded), which drizzle cannot express.
    index("users_popularity").on(table.followers_count.desc().nullsFirst(), table.id),
  ],
);

/** The search terms of users. A table of its own, because follower counts change more often than names. */
export const userSearchTerms = pgTable(
  "user_search",
  {
    user_id: integer()
      .primaryKey()
      .references(() => users.id, { onDelete: "cascade" }),
    terms: int4().array().notNull(),
    /**
     * The follower count on a coarse logarithmic scale (`onair_popularity`); it never decreases with more followers.
     */
    popularity: smallint().notNull(),
  },
  (table) => [index("user_search_terms").using("gin", table.terms).with({ gin_pending_list_limit: 256 })],
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

/** Snapshots of the order of categories, which cursors page through. */
export const categoryOrders = pgTable(
  "category_orders",
  {
    /** Milliseconds since the epoch, with a fraction that is different for each replica. */
    taken_at: doublePrecision().primaryKey(),
    content: bytes().notNull(),
    /** When it was last used. Snapshots are removed some time after that. */
    used_at: integer().notNull(),
  },
  (table) => [index("category_orders_use").on(table.used_at)],
);
