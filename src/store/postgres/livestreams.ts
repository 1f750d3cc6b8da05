import { eq, gt, sql } from "drizzle-orm";
import type { NewLivestream } from "../../domain/livestreams.ts";
import type { LivestreamStore } from "../livestreams.ts";
import { keepBatch } from "./database/batch.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { excluded, given, isOneOf } from "./schema/columns.ts";
import { categories, channels, livestreams } from "./schema/platform.ts";

export function livestreamStore(db: Postgres): LivestreamStore {
  const { orm } = db;

  const put = ({ orm }: Queries, batch: readonly NewLivestream[], now: string) =>
    orm
      .insert(livestreams)
      .select(
        sql`SELECT given.channel_id, given.category_id, given.viewers, given.title, given.language,
            coalesce(given.started_at, known.started_at, ${now})
          FROM ${given(livestreams, batch)}
          LEFT JOIN ${livestreams} AS known ON known.channel_id = given.channel_id ORDER BY given.n`,
      )
      .onConflictDoUpdate({
        target: livestreams.channel_id,
        set: excluded(livestreams),
        setWhere: sql`${livestreams} IS DISTINCT FROM excluded`,
      });

  const refusal = async ({ orm }: Queries, { channel_id, category_id }: NewLivestream) => {
    const channel = await orm.select().from(channels).where(eq(channels.id, channel_id));
    if (channel.length === 0) return `channel_id ${channel_id} is not a known channel`;
    const category = await orm.select().from(categories).where(eq(categories.id, category_id));
    return category.length === 0 ? `category_id ${category_id} is not a known category` : null;
  };

  const endOthers = ({ orm }: Queries, kept: readonly NewLivestream[]) => {
    const ids = kept.map(({ channel_id }) => channel_id);
    return orm.delete(livestreams).where(sql`${livestreams.channel_id} <> ALL(${sql.param(ids)}::bigint[])`);
  };

  return {
    upsert: (batch, now, mode = {}) =>
      keepBatch(db, batch, mode, {
        put: (queries, items) => put(queries, items, now),
        refusal,
        ...(mode.only && { finish: endOthers }),
      }),
    page: async (after, limit) =>
      orm
        .select()
        .from(livestreams)
        .where(gt(livestreams.channel_id, after))
        .orderBy(livestreams.channel_id)
        .limit(limit),
    async end(ids) {
      await orm.delete(livestreams).where(isOneOf(livestreams.channel_id, ids));
    },
    all: async () => orm.select().from(livestreams),
    byChannels: async (ids) => orm.select().from(livestreams).where(isOneOf(livestreams.channel_id, ids)),
  };
}
