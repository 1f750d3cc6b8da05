import { eq, gt, sql } from "drizzle-orm";
import type { ChannelStore } from "../channels.ts";
import { freeSlugs, keepEach } from "./batches.ts";
import { type Dialect, execute } from "./dialect.ts";

export function channelStore(db: Dialect): ChannelStore {
  const { orm, tables, write } = db;
  const { channels, users } = tables;

  return {
    upsert: (batch, mode = {}) =>
      keepEach(db, batch, mode, {
        begin: (orm, rows) => freeSlugs(db, orm, channels, rows),
        put: (orm, rows) => db.put(orm, channels, rows),
        *refusal(orm, { slug, user_id }, error) {
          if (db.isForeignKeyViolation(error))
            return `user_id ${user_id} is not a known user: import users first`;
          const hasSlug = eq(channels.slug, slug);
          const [owner] = yield* execute(orm.select({ id: channels.id }).from(channels).where(hasSlug));
          return `slug "${slug}" is taken by channel ${owner?.id}`;
        },
      }),
    page: async (after, limit) =>
      orm.select().from(channels).where(gt(channels.id, after)).orderBy(channels.id).limit(limit),
    remove: (id) => write(orm.delete(channels).where(eq(channels.id, id))),
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
        .where(db.isOneOf(channels.id, ids)),
  };
}
