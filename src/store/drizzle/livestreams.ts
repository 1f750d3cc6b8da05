import { eq, gt, not } from "drizzle-orm";
import type { NewLivestream } from "../../domain/livestreams.ts";
import type { LivestreamStore } from "../livestreams.ts";
import { keepEach } from "./batches.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";

/** Statements specific to a database, because they run every few seconds or every start waits for them. */
interface OwnStatements {
  /** Stores livestreams in their order; `now` is the `started_at` of a new one that has none. */
  put(orm: Orm, livestreams: readonly NewLivestream[], now: string): Work<void>;
  readonly all: LivestreamStore["all"];
}

export function livestreamStore(db: Dialect, { put, all }: OwnStatements): LivestreamStore {
  const { orm, tables, write, isOneOf } = db;
  const { categories, channels, livestreams } = tables;
  const { channel_id } = livestreams;

  function* refusal(orm: Orm, { channel_id, category_id }: NewLivestream): Work<string | null> {
    const channel = yield* execute(orm.select().from(channels).where(eq(channels.id, channel_id)));
    if (channel.length === 0) return `channel_id ${channel_id} is not a known channel`;
    const category = yield* execute(orm.select().from(categories).where(eq(categories.id, category_id)));
    return category.length === 0 ? `category_id ${category_id} is not a known category` : null;
  }

  function* endOthers(orm: Orm, kept: readonly NewLivestream[]): Work<void> {
    const ids = kept.map((one) => one.channel_id);
    yield* execute(orm.delete(livestreams).where(not(isOneOf(channel_id, ids))));
  }

  return {
    upsert: (batch, now, { only, ...mode } = {}) =>
      keepEach(db, batch, mode, {
        put: (orm, rows) => put(orm, rows, now),
        refusal,
        ...(only && { finish: endOthers }),
      }),
    page: async (after, limit) =>
      orm.select().from(livestreams).where(gt(channel_id, after)).orderBy(channel_id).limit(limit),
    end: (ids) => write(orm.delete(livestreams).where(isOneOf(channel_id, ids))),
    all,
    byChannels: async (ids) => orm.select().from(livestreams).where(isOneOf(channel_id, ids)),
  };
}
