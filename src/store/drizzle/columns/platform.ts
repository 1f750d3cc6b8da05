import type { Tag } from "../../../domain/categories.ts";
import type { Kinds, ReferredColumn } from "./kinds.ts";

export const userColumns = ({ text, integer, boolean }: Kinds) => ({
  id: integer().primaryKey(),
  username: text().notNull(),
  display_name: text().notNull(),
  bio: text().notNull(),
  profile_picture: text(),
  followers_count: integer().notNull(),
  following_count: integer().notNull(),
  is_verified: boolean().notNull(),
  created_at: text().notNull(),
});

export const categoryColumns = ({ text, integer, json }: Kinds) => ({
  id: integer().primaryKey(),
  name: text().notNull(),
  slug: text().notNull().unique(),
  icon: text(),
  banner: text(),
  description: text().notNull(),
  tags: json<readonly Tag[]>().notNull(),
});

export const channelColumns = ({ text, integer }: Kinds, user: ReferredColumn) => ({
  id: integer().primaryKey(),
  user_id: integer().notNull().references(user, { onDelete: "cascade" }),
  slug: text().notNull().unique(),
  name: text().notNull(),
  profile_image: text(),
});

export const livestreamColumns = (
  { text, integer }: Kinds,
  channel: ReferredColumn,
  category: ReferredColumn,
) => ({
  channel_id: integer().primaryKey().references(channel, { onDelete: "cascade" }),
  category_id: integer().notNull().references(category, { onDelete: "cascade" }),
  viewers: integer().notNull(),
  title: text().notNull(),
  language: text().notNull(),
  started_at: text().notNull(),
});
