import { eq, gt, inArray, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Channel } from "../../domain/livestreams.ts";
import type { ChannelStore } from "../channels.ts";
import { type Commit, commitBatch } from "./database/commit.ts";
import { isForeignKeyViolation, isUniqueViolation } from "./database/faults.ts";
import { excluded, placeholders } from "./schema/columns.ts";
import { channels, users } from "./schema/platform.ts";

export function channelStore(orm: BunSQLiteDatabase, commit: Commit): ChannelStore {
  const bySlug = orm
    .select({ id: channels.id })
    .from(channels)
    .where(eq(channels.slug, sql.placeholder("slug")))
    .limit(1)
    .prepare();
  const upsert = orm
    .insert(channels)
    .values(placeholders(channels))
    .onConflictDoUpdate({ target: channels.id, set: excluded(channels) })
    .prepare();

  const keep = (channel: Channel): string | null => {
    try {
      upsert.run({ ...channel });
      return null;
    } catch (error) {
      if (isForeignKeyViolation(error))
        return `user_id ${channel.user_id} is not a known user: import users first`;
      if (!isUniqueViolation(error)) throw error;
      return `slug "${channel.slug}" is taken by channel ${bySlug.get({ slug: channel.slug })?.id}`;
    }
  };

  return {
    upsert: (batch, mode = {}) => commitBatch(commit, mode, () => batch.map(keep)),
    page: async (after, limit) =>
      orm.select().from(channels).where(gt(channels.id, after)).orderBy(channels.id).limit(limit).all(),
    remove: (id) => commit(() => void orm.delete(channels).where(eq(channels.id, id)).run()),
    byIds: async (ids) =>
      orm
        .select({
          id: channels.id,
          user_id: channels.user_id,
          slug: channels.slug,
          name: channels.name,
          profile_image: sql<string | null>`coalesce(${channels.profile_image}, ${users.profile_picture})`,
        })
        .from(channels)
        .innerJoin(users, eq(users.id, channels.user_id))
        .where(inArray(channels.id, [...ids]))
        .all(),
  };
}
