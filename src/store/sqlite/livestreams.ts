import type { Database } from "bun:sqlite";
import { eq, gt, inArray, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Livestream, NewLivestream } from "../../domain/livestreams.ts";
import type { LivestreamStore } from "../livestreams.ts";
import { type Commit, commitBatch } from "./database/commit.ts";
import { isForeignKeyViolation } from "./database/faults.ts";
import { excluded, placeholders } from "./schema/columns.ts";
import { categories, channels, livestreams } from "./schema/platform.ts";

export function livestreamStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): LivestreamStore {
  const channelExists = orm
    .select({ id: channels.id })
    .from(channels)
    .where(eq(channels.id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const categoryExists = orm
    .select({ id: categories.id })
    .from(categories)
    .where(eq(categories.id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  // Nearly all are where they were: without a new category there is no key to check and no index to change. A statement of
  // SQLite itself, because each livestream is reported every few seconds, and drizzle takes three times as long.
  const update = db.prepare(
    `UPDATE livestreams SET viewers = ?3, title = ?4, language = ?5, started_at = coalesce(?6, started_at)
     WHERE channel_id = ?1 AND category_id = ?2`,
  );
  const startedAt = sql.placeholder("started_at");
  const upsert = orm
    .insert(livestreams)
    .values({
      ...placeholders(livestreams),
      started_at: sql`coalesce(${startedAt}, ${sql.placeholder("now")})`,
    })
    .onConflictDoUpdate({
      target: livestreams.channel_id,
      set: { ...excluded(livestreams), started_at: sql`coalesce(${startedAt}, ${livestreams.started_at})` },
    })
    .prepare();
  const end = orm
    .delete(livestreams)
    .where(eq(livestreams.channel_id, sql.placeholder("id")))
    .prepare();

  const endOthers = (kept: readonly NewLivestream[]) => {
    const stay = new Set(kept.map(({ channel_id }) => channel_id));
    for (const { id } of orm.select({ id: livestreams.channel_id }).from(livestreams).all()) {
      if (!stay.has(id)) end.run({ id });
    }
  };

  const keep = (stream: NewLivestream, now: string): string | null => {
    const { channel_id, category_id, viewers, title, language, started_at } = stream;
    try {
      const { changes } = update.run(channel_id, category_id, viewers, title, language, started_at);
      if (changes === 0) upsert.run({ ...stream, now });
      return null;
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      if (!channelExists.get({ id: channel_id })) return `channel_id ${channel_id} is not a known channel`;
      if (!categoryExists.get({ id: category_id }))
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
        for (const id of ids) end.run({ id });
      }),
    // A statement of SQLite itself, because every start waits for it.
    all: async () => db.query<Livestream, []>("SELECT * FROM livestreams").all(),
    byChannels: async (ids) =>
      orm
        .select()
        .from(livestreams)
        .where(inArray(livestreams.channel_id, [...ids]))
        .all(),
  };
}
