import type { Database } from "bun:sqlite";
import { sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Livestream, NewLivestream } from "../../domain/livestreams.ts";
import { excluded } from "../drizzle/columns-of.ts";
import { atOnce } from "./dialect.ts";
import { livestreams, placeholders } from "./schema.ts";

/** Prepares the statements for livestreams that are specific to SQLite. */
export function livestreamStatements(db: Database, orm: BunSQLiteDatabase) {
  // The fast path: nearly all livestreams keep their category, so there is no foreign key to check and no index to
  // change. Raw SQL, because each livestream is reported every few seconds.
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

  return {
    put: (_: unknown, batch: readonly NewLivestream[], now: string) =>
      atOnce(() => {
        for (const stream of batch) {
          const { channel_id, category_id, viewers, title, language, started_at } = stream;
          const { changes } = update.run(channel_id, category_id, viewers, title, language, started_at);
          if (changes === 0) upsert.run({ ...stream, now });
        }
      }),
    // Raw SQL, because every start waits for it.
    all: async () => db.query<Livestream, []>("SELECT * FROM livestreams").all(),
  };
}
