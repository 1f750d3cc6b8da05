import { eq, gt, sql } from "drizzle-orm";
import type { Channel } from "../../domain/livestreams.ts";
import type { ChannelStore } from "../channels.ts";
import { keepBatch } from "./database/batch.ts";
import { isForeignKeyViolation } from "./database/faults.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { excluded, given, isOneOf } from "./schema/columns.ts";
import { channels, users } from "./schema/platform.ts";

export function channelStore(db: Postgres): ChannelStore {
  const { orm } = db;

  const put = ({ orm }: Queries, batch: readonly Channel[]) =>
    orm
      .insert(channels)
      .select(
        sql`SELECT given.id, given.user_id, given.slug, given.name, given.profile_image
          FROM ${given(channels, batch)} ORDER BY given.n`,
      )
      .onConflictDoUpdate({
        target: channels.id,
        set: excluded(channels),
        setWhere: sql`${channels} IS DISTINCT FROM excluded`,
      });

  const refusal = async ({ orm }: Queries, { slug, user_id }: Channel, error: unknown) => {
    if (isForeignKeyViolation(error)) return `user_id ${user_id} is not a known user: import users first`;
    const [owner] = await orm.select({ id: channels.id }).from(channels).where(eq(channels.slug, slug));
    return `slug "${slug}" is taken by channel ${owner?.id}`;
  };

  return {
    upsert: (batch, mode = {}) => keepBatch(db, batch, mode, { put, refusal }),
    page: async (after, limit) =>
      orm.select().from(channels).where(gt(channels.id, after)).orderBy(channels.id).limit(limit),
    async remove(id) {
      await orm.delete(channels).where(eq(channels.id, id));
    },
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
        .where(isOneOf(channels.id, ids)),
  };
}
