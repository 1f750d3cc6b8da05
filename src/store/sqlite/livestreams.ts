import type { Database } from "bun:sqlite";
import { eq, gt, inArray, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { once } from "../../domain/lazily.ts";
import type { Channel, Livestream, NewLivestream } from "../../domain/livestreams.ts";
import type { ChannelStore } from "../channels.ts";
import type { LivestreamStore } from "../livestreams.ts";
import { type Commit, commitBatch } from "./commit.ts";
import { isForeignKeyViolation, isUniqueViolation } from "./faults.ts";
import { categories, channels, livestreams, users } from "./schema/platform.ts";

export function channelStore(orm: BunSQLiteDatabase, commit: Commit): ChannelStore {
  const bySlug = orm
    .select({ id: channels.id })
    .from(channels)
    .where(eq(channels.slug, sql.placeholder("slug")))
    .limit(1)
    .prepare();
  const upsert = orm
    .insert(channels)
    .values({
      id: sql.placeholder("id"),
      user_id: sql.placeholder("user_id"),
      slug: sql.placeholder("slug"),
      name: sql.placeholder("name"),
      profile_image: sql.placeholder("profile_image"),
    })
    .onConflictDoUpdate({
      target: channels.id,
      set: {
        user_id: sql`excluded.user_id`,
        slug: sql`excluded.slug`,
        name: sql`excluded.name`,
        profile_image: sql`excluded.profile_image`,
      },
    })
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

/** Reporting uses statements of SQLite itself: everybody who is live is reported every few seconds. */
export function livestreamStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): LivestreamStore {
  const channelExists = once(() =>
    orm
      .select({ id: channels.id })
      .from(channels)
      .where(eq(channels.id, sql.placeholder("id")))
      .limit(1)
      .prepare(),
  );
  const categoryExists = once(() =>
    orm
      .select({ id: categories.id })
      .from(categories)
      .where(eq(categories.id, sql.placeholder("id")))
      .limit(1)
      .prepare(),
  );
  const update = db.prepare(
    `UPDATE livestreams SET viewers = ?3, title = ?4, language = ?5, started_at = coalesce(?6, started_at)
     WHERE channel_id = ?1 AND category_id = ?2`,
  );
  const upsert = db.prepare(
    `INSERT INTO livestreams (channel_id, category_id, viewers, title, language, started_at)
     VALUES (?1, ?2, ?3, ?4, ?5, coalesce(?6, ?7))
     ON CONFLICT (channel_id) DO UPDATE SET
       category_id = excluded.category_id, viewers = excluded.viewers, title = excluded.title,
       language = excluded.language, started_at = coalesce(?6, started_at)`,
  );
  const end = once(() =>
    orm
      .delete(livestreams)
      .where(eq(livestreams.channel_id, sql.placeholder("id")))
      .prepare(),
  );

  const endOthers = (kept: readonly NewLivestream[]) => {
    const stay = new Set(kept.map(({ channel_id }) => channel_id));
    for (const { id } of orm.select({ id: livestreams.channel_id }).from(livestreams).all()) {
      if (!stay.has(id)) end().run({ id });
    }
  };

  const keep = (stream: NewLivestream, now: string): string | null => {
    const { channel_id, category_id, viewers, title, language, started_at } = stream;
    try {
      // Nearly all are where they were: without a new category there is no key to check and no index to change.
      const { changes } = update.run(channel_id, category_id, viewers, title, language, started_at);
      if (changes === 0) upsert.run(channel_id, category_id, viewers, title, language, started_at, now);
      return null;
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      if (!channelExists().get({ id: channel_id })) return `channel_id ${channel_id} is not a known channel`;
      if (!categoryExists().get({ id: category_id }))
        return `category_id ${category_id} is not a known category`;
      throw error;
    }
  };

  return {
    upsert: (batch, now, mode = {}) =>
      commitBatch(commit, mode, () => {
        const results = batch.map((stream) => keep(stream, now));
        if (mode.only) endOthers(batch.filter((_, i) => results[i] === null));
        return results;
      }),
    page: async (after, limit) =>
      orm
        .select()
        .from(livestreams)
        .where(gt(livestreams.channel_id, after))
        .orderBy(livestreams.channel_id)
        .limit(limit)
        .all(),
    end: (ids) =>
      commit(() => {
        for (const id of ids) end().run({ id });
      }),
    // So is this, because every start waits for it.
    all: async () => db.query<Livestream, []>("SELECT * FROM livestreams").all(),
  };
}
