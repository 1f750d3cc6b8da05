import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { CategoryInput, categoryFrom } from "../domain/categories.ts";
import { invalidFields } from "../domain/errors.ts";
import { parseJson } from "../domain/json.ts";
import { ChannelInput, channelFrom, LivestreamInput, livestreamFrom } from "../domain/livestreams.ts";
import { isoTime } from "../domain/time.ts";
import { UserInput, userFrom } from "../domain/users.ts";
import { problems } from "../domain/validation.ts";
import type { Ranking } from "../ranking/ranking.ts";
import type { Store } from "../store/store.ts";
import type { Keep, ReadLine } from "./apply.ts";

export const dataKinds = ["users", "categories", "channels", "livestreams"] as const;
export type DataKind = (typeof dataKinds)[number];

/** How one kind of the platform's data is checked and kept. */
export interface Intake<Input> {
  readonly check: TypeCheck<TSchema>;
  readonly read: ReadLine<Input>;
  readonly keep: Keep<Input>;
}

const checks = {
  users: TypeCompiler.Compile(UserInput),
  categories: TypeCompiler.Compile(CategoryInput),
  channels: TypeCompiler.Compile(ChannelInput),
  livestreams: TypeCompiler.Compile(LivestreamInput),
};

function reader<Input>(check: TypeCheck<TSchema>): ReadLine<Input> {
  return (bytes) => {
    const value = parseJson(bytes, "line");
    const wrong = problems(check, value, { in: "body" });
    if (wrong.length > 0) throw invalidFields(wrong);
    return value as Input;
  };
}

/** Where the platform's data comes in: kept in the store first, then told to the ranking. */
export function platformData(store: Store, ranking: Ranking, now: () => number) {
  const intake = <Input>(kind: DataKind, keep: Keep<Input>): Intake<Input> => {
    return { check: checks[kind], read: reader(checks[kind]), keep };
  };
  /** Ends these livestreams, whether they are live or not. */
  const end = async (channelIds: readonly number[]): Promise<void> => {
    await store.livestreams.end(channelIds);
    ranking.endLive(channelIds);
  };
  return {
    users: intake<UserInput>("users", async (items) => {
      const results = await store.users.upsert(items.map(userFrom), isoTime(now()));
      ranking.touch();
      return results;
    }),
    categories: intake<CategoryInput>("categories", async (items) => {
      const results = await store.categories.upsert(items.map(categoryFrom));
      const taken = items.filter((_, i) => results[i] === null).map(({ id }) => id);
      ranking.putCategories(await store.categories.byIds(taken));
      return results;
    }),
    channels: intake<ChannelInput>("channels", async (items) => {
      const results = await store.channels.upsert(items.map(channelFrom));
      ranking.touch();
      return results;
    }),
    livestreams: intake<LivestreamInput>("livestreams", async (items) => {
      const results = await store.livestreams.upsert(items.map(livestreamFrom), isoTime(now()));
      ranking.putLive(items.filter((_, i) => results[i] === null));
      return results;
    }),
    end,
    /** Ends every livestream but those of these channels. */
    endAllBut: (channelIds: ReadonlySet<number>): Promise<void> =>
      end(ranking.liveChannelIds().filter((id) => !channelIds.has(id))),
  };
}

export type PlatformData = ReturnType<typeof platformData>;
