import { and, eq, gt, or, sql } from "drizzle-orm";
import {
  type ChannelStore,
  endedBySnapshot,
  type LivestreamStore,
  type NewLivestream,
  type SnapshotEnding,
} from "../../domain/livestreams.ts";
import { freeSlugs, keepEach } from "./batches.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";

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
    list: async ({ user_id, anyOf }, after, limit) =>
      orm
        .select()
        .from(channels)
        .where(
          and(
            gt(channels.id, after),
            user_id === null ? undefined : eq(channels.user_id, user_id),
            anyOf === null
              ? undefined
              : or(db.isOneOf(channels.user_id, anyOf.users), eq(channels.slug, anyOf.slug)),
          ),
        )
        .orderBy(channels.id)
        .limit(limit),
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

/** Statements specific to a database, because they run every few seconds or every start waits for them. */
interface OwnStatements {
  /** Stores livestreams in their order; `now` is the `started_at` of a new livestream that has none. */
  put(orm: Orm, livestreams: readonly NewLivestream[], now: string): Work<void>;
  readonly all: LivestreamStore["all"];
}

export function livestreamStore(db: Dialect, { put, all }: OwnStatements): LivestreamStore {
  const { orm, tables, transact, write, isOneOf } = db;
  const { categories, channels, livestreams } = tables;
  const { channel_id } = livestreams;

  function* refusal(orm: Orm, { channel_id, category_id }: NewLivestream): Work<string | null> {
    const channel = yield* execute(orm.select().from(channels).where(eq(channels.id, channel_id)));
    if (channel.length === 0) return `channel_id ${channel_id} is not a known channel: import channels first`;
    const category = yield* execute(orm.select().from(categories).where(eq(categories.id, category_id)));
    if (category.length > 0) return null;
    return `category_id ${category_id} is not a known category: import categories first`;
  }

  /** Decides and ends in the caller's transaction. Ends only what the decision counted. */
  function* endOthers(
    orm: Orm,
    named: readonly number[],
    ending: Omit<SnapshotEnding, "liveBefore"> & Partial<SnapshotEnding>,
  ): Work<readonly number[]> {
    const live = (yield* execute(orm.select({ channel_id }).from(livestreams))).map((one) => one.channel_id);
    const ended = endedBySnapshot(live, new Set(named), { liveBefore: live, ...ending });
    if (ended.length > 0) yield* execute(orm.delete(livestreams).where(isOneOf(channel_id, ended)));
    return ended;
  }

  const putting = (now: string) => ({
    put: (orm: Orm, rows: readonly NewLivestream[]) => put(orm, rows, now),
    refusal,
  });

  return {
    upsert: (batch, now, mode = {}) => keepEach(db, batch, mode, putting(now)),
    async replaceAll(batch, now, confirmAbovePercent) {
      let ended: readonly number[] = [];
      await keepEach(
        db,
        batch,
        { atomic: true },
        {
          ...putting(now),
          *begin(orm, rows) {
            const named = rows.map((one) => one.channel_id);
            ended = yield* endOthers(orm, named, { confirmAbovePercent });
          },
        },
      );
      return ended;
    },
    endOthers: (named, ending) => transact((orm) => endOthers(orm, named, ending)),
    page: async (after, limit) =>
      orm.select().from(livestreams).where(gt(channel_id, after)).orderBy(channel_id).limit(limit),
    end: (ids) => write(orm.delete(livestreams).where(isOneOf(channel_id, ids))),
    all,
    byChannels: async (ids) => orm.select().from(livestreams).where(isOneOf(channel_id, ids)),
  };
}
