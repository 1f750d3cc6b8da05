import type { TSchema } from "@sinclair/typebox";
import { CategoryInput, categoryFrom } from "../domain/categories.ts";
import { invalidFields } from "../domain/errors.ts";
import { ChannelInput, channelFrom, LivestreamInput, livestreamFrom } from "../domain/livestreams.ts";
import { isoTime } from "../domain/time.ts";
import { UserInput, userFrom } from "../domain/users.ts";
import { parseJson } from "../domain/validation/json.ts";
import { problems } from "../domain/validation/problems.ts";
import { unknownFields } from "../domain/validation/unknown-fields.ts";
import type { Ranking } from "../ranking/ranking.ts";
import type { Store } from "../store/store.ts";
import { applyAtomically, applyBatch, type BatchReport, type Intake, type Keep } from "./apply.ts";
import type { PlatformFollower } from "./platform-follower.ts";

export const dataKinds = ["users", "categories", "channels", "livestreams"] as const;
export type DataKind = (typeof dataKinds)[number];

const schemas = {
  users: UserInput,
  categories: CategoryInput,
  channels: ChannelInput,
  livestreams: LivestreamInput,
};

function reader<Input>(schema: TSchema): Intake<Input>["read"] {
  return (bytes) => {
    const value = parseJson(bytes, "line");
    const wrong = problems(schema, value, { in: "body" });
    if (wrong.length > 0) throw invalidFields(wrong);
    return value as Input;
  };
}

interface PlatformDataOptions {
  readonly store: Store;
  readonly ranking: Ranking;
  readonly now: () => number;
  /** Reads changed data again, because other processes may have changed it later; null without replicas. */
  readonly follower?: Pick<PlatformFollower, "changed"> | null;
}

/** The most livestreams of a transaction. Their rows are small, and smaller transactions would need more syncs. */
const livestreamGroup = 500;

/** Returns the writer of the platform's data. It stores data first and then updates the parts in memory. */
export function platformData({ store, ranking, now, follower = null }: PlatformDataOptions) {
  const putLive = (livestreams: readonly LivestreamInput[]): void => {
    ranking.putLive(livestreams);
    follower?.changed(
      "livestreams",
      livestreams.map(({ channel_id }) => channel_id),
    );
  };
  const endLive = (channelIds: readonly number[]): void => {
    ranking.endLive(channelIds);
    follower?.changed("livestreams", channelIds);
  };
  const intake = <Input>(kind: DataKind, keep: Keep<Input>): Intake<Input> => {
    const schema = schemas[kind];
    return { read: reader(schema), keep, ignored: (input) => unknownFields(schema, input) };
  };
  /** Ends these livestreams; those that are not live are ignored. */
  const end = async (channelIds: readonly number[]): Promise<void> => {
    for (let start = 0; start < channelIds.length; start += livestreamGroup) {
      const group = channelIds.slice(start, start + livestreamGroup);
      await store.livestreams.end(group);
      endLive(group);
    }
  };
  const livestreams = intake<LivestreamInput>("livestreams", async (items, mode) => {
    const results = await store.livestreams.upsert(items.map(livestreamFrom), isoTime(now()), mode);
    putLive(items.filter((_, i) => results[i] === null));
    return results;
  });
  /** Stores these livestreams and ends every other, in one transaction. */
  const keepOnly: Keep<LivestreamInput> = async (items) => {
    const mode = { atomic: true, only: true };
    const results = await store.livestreams.upsert(items.map(livestreamFrom), isoTime(now()), mode);
    const stay = new Set(items.map(({ channel_id }) => channel_id));
    putLive(items);
    endLive(ranking.liveChannelIds().filter((id) => !stay.has(id)));
    return results;
  };
  return {
    /** The live order of categories, for reading. */
    ranking,
    users: intake<UserInput>("users", async (items, mode) => {
      const results = await store.users.upsert(items.map(userFrom), isoTime(now()), mode);
      ranking.touch();
      return results;
    }),
    categories: intake<CategoryInput>("categories", async (items, mode) => {
      const results = await store.categories.upsert(items.map(categoryFrom), mode);
      const taken = items.filter((_, i) => results[i] === null).map(({ id }) => id);
      ranking.putCategories(await store.categories.byIds(taken));
      follower?.changed("categories", taken);
      return results;
    }),
    channels: intake<ChannelInput>("channels", async (items, mode) => {
      const results = await store.channels.upsert(items.map(channelFrom), mode);
      ranking.touch();
      return results;
    }),
    livestreams,
    end,
    /** Deletes a user with all data of the user, as in `store.users.remove`. */
    async removeUser(id: number): Promise<void> {
      const { channelIds } = await store.users.remove(id, now());
      endLive(channelIds);
      ranking.touch();
    },
    /** Deletes a category and ends its livestreams. */
    async removeCategory(id: number): Promise<void> {
      const channelIds = await store.categories.remove(id);
      endLive(channelIds);
      ranking.removeCategories([id]);
      follower?.changed("categories", [id]);
    },
    /** Deletes a channel and ends its livestream. */
    async removeChannel(id: number): Promise<void> {
      await store.channels.remove(id);
      endLive([id]);
      ranking.touch();
    },
    /**
     * Applies a stream of livestreams. A snapshot is the complete set: livestreams that are not in it end. They end
     * only after its last line, so that an interrupted snapshot ends none, and not if all of its lines are refused.
     */
    async applyLivestreams(
      stream: AsyncIterable<Uint8Array>,
      snapshot: boolean,
      { atomic = false, groupSize = livestreamGroup }: { atomic?: boolean; groupSize?: number } = {},
    ): Promise<BatchReport> {
      if (atomic) return applyAtomically(stream, snapshot ? { ...livestreams, keep: keepOnly } : livestreams);
      const brought = new Set<number>();
      const keep: Keep<LivestreamInput> = async (items) => {
        const results = await livestreams.keep(items);
        for (const [i, { channel_id }] of items.entries()) if (results[i] === null) brought.add(channel_id);
        return results;
      };
      const report = await applyBatch(stream, { ...livestreams, keep }, groupSize);
      if (snapshot && (report.accepted > 0 || report.rejected === 0)) {
        await end(ranking.liveChannelIds().filter((id) => !brought.has(id)));
      }
      return report;
    },
  };
}

export type PlatformData = ReturnType<typeof platformData>;
