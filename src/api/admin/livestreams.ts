import { type Static, Type } from "@sinclair/typebox";
import { categoryLimits } from "../../domain/categories.ts";
import { DomainError } from "../../domain/errors.ts";
import { exampleCategory, exampleChannel, exampleUser } from "../../domain/examples.ts";
import type { Channel, ChannelFilter } from "../../domain/livestreams.ts";
import type { Store } from "../../domain/store.ts";
import { fold } from "../../domain/text.ts";
import { searchLimits, type User } from "../../domain/users.ts";
import { about, Count, Id, nullable } from "../../domain/validation/fields.ts";
import type { RankedCategory, Snapshot } from "../../platform/ranking.ts";
import { dataOf, listOf, pageOf } from "../http/answers.ts";
import { listCursors, pagedList, pageIn } from "../http/cursors.ts";
import { IdParameter, IsoTimestamp, LimitParameter, named, TextParameter } from "../http/parameters.ts";
import { firstNamed, liveChannels, nameFilter } from "../public/categories.ts";
import { usersFor } from "../public/users.ts";
import { type AdminDeps, type AdminListener, everyRole } from "./listener.ts";

/*
 * What operators see of the live platform: lists of channels and livestreams, and the order of the categories.
 */

const channelFields = {
  id: about(Id, "Id of the channel."),
  slug: Type.String({ description: "Slug of the channel." }),
  name: Type.String({ description: "Name of the channel." }),
  user_id: about(Id, "Id of its owner."),
  username: Type.String({ description: "Username of its owner." }),
  display_name: Type.String({ description: "Display name of its owner." }),
  subscriptions: about(Count, "Number of subscriptions of applications to events of its owner."),
};

const exampleFields = {
  id: exampleChannel.id,
  slug: exampleChannel.slug,
  name: exampleChannel.name,
  user_id: exampleUser.id,
  username: exampleUser.username,
  display_name: exampleUser.display_name,
  subscriptions: 12,
};

const ListedChannelSchema = named("ListedChannel", "A channel with its owner.", {
  ...channelFields,
  followers_count: about(Count, "Number of followers of its owner."),
  viewers: nullable(Count, { description: "Current viewers; null while it is not live." }),
});

const Channels = pageOf(ListedChannelSchema, {
  order: "Channels, by id.",
  description: "A page of channels.",
  example: { ...exampleFields, followers_count: exampleUser.followers_count, viewers: 27_716 },
});

const ListedLivestreamSchema = named("ListedLivestream", "A livestream with its channel and category.", {
  ...channelFields,
  viewers: about(Count, "Current viewers."),
  category_id: about(Id, "Id of the category."),
  category_name: Type.String({ description: "Name of the category." }),
  title: Type.String({ description: 'Title of the livestream; `""` for none.' }),
  language: Type.String({ description: 'Language of the livestream; `""` for none.' }),
  started_at: about(IsoTimestamp, "Time at which it started."),
});

const Livestreams = pageOf(ListedLivestreamSchema, {
  order: "Livestreams, the most watched first.",
  description: "A page of livestreams.",
  example: {
    ...exampleFields,
    viewers: 27_716,
    category_id: exampleCategory.id,
    category_name: exampleCategory.name,
    title: "Day 12: the frozen caves",
    language: "en",
    started_at: "2026-01-14T16:08:06Z",
  },
});

const owner = Type.Optional(IdParameter("owner", exampleUser.id));

/** The channels of a page with their owners and subscriptions; those whose owner was just removed are left out. */
async function withOwners(
  { users, subscriptions }: Pick<Store, "users" | "subscriptions">,
  channels: readonly Channel[],
) {
  const ids = [...new Set(channels.map(({ user_id }) => user_id))];
  const [found, counts] = await Promise.all([users.byIds(ids), subscriptions.counts(ids)]);
  const owners = new Map(found.map((user) => [user.id, user]));
  const counted = new Map(counts.map(({ broadcaster_user_id, count }) => [broadcaster_user_id, count]));
  return channels.flatMap((channel) => {
    const user = owners.get(channel.user_id);
    return user ? [{ user, entry: shownChannel(channel, user, counted.get(user.id) ?? 0) }] : [];
  });
}

function shownChannel({ id, slug, name }: Channel, user: User, subscriptions: number) {
  const { id: user_id, username, display_name } = user;
  return { id, slug, name, user_id, username, display_name, subscriptions };
}

/** List Channels. */
export function channelListRoute(app: AdminListener, { store, cursors, data: { ranking } }: AdminDeps): void {
  const list = pagedList("channels", cursors);
  const filterOf = async (find: string, user_id: number | null): Promise<ChannelFilter> => {
    if (find === "") return { user_id, anyOf: null };
    const users = await usersFor(store, find, searchLimits.maxResults);
    return { user_id, anyOf: { users: users.map(({ id }) => id), slug: find } };
  };
  app.get(
    "/admin/v1/channels/search",
    async ({ query }) => {
      const { find = "", user_id = null } = query;
      const filter = await filterOf(find, user_id);
      const page = await list.page(query, {
        read: (after: number | null, limit) => store.channels.list(filter, after ?? 0, limit),
        positionOf: ({ id }) => id,
        toJson: (channel) => channel,
      });
      const data = (await withOwners(store, page.data)).map(
        ({ user, entry }): Static<typeof ListedChannelSchema> => ({
          ...entry,
          followers_count: user.followers_count,
          viewers: ranking.liveChannel(entry.id)?.viewers ?? null,
        }),
      );
      return { ...page, data };
    },
    {
      roles: everyRole,
      query: Type.Object({
        find: Type.Optional(
          TextParameter({
            trim: true,
            allowEmptyValue: true,
            maxLength: searchLimits.maxQuery,
            description:
              "Returns only channels with this slug, and those of users with this id or whose username or display name contains the text: of the first 100 users in the order of the search.",
            examples: ["luna"],
          }),
        ),
        user_id: owner,
        ...list.query.properties,
      }),
      response: { 200: Channels },
      detail: {
        operationId: "listChannels",
        tags: ["Channels and livestreams"],
        description:
          "Returns channels in pages, with their owners, subscriptions and current viewers. Get Channels exports all of them in the form that Put Channels accepts.",
      },
    },
  );
}

const livestreamLimits = { defaultResults: 25, maxResults: 100 };

/** List Livestreams. */
export function livestreamListRoute(
  app: AdminListener,
  { store, cursors, data: { ranking } }: AdminDeps,
): void {
  const positions = listCursors<readonly [viewers: number, id: number]>(cursors, "livestreams");

  /** Returns the channels that are live, the most watched first, after a position. */
  const liveAfter = async (
    snapshot: Snapshot,
    { category_id, user_id }: { readonly category_id?: number; readonly user_id?: number },
    [viewers, id]: readonly [number, number],
  ) => {
    const isAfter = (live: { viewers: number; channel_id: number }) =>
      live.viewers < viewers || (live.viewers === viewers && live.channel_id > id);
    const all = snapshot.liveChannels(category_id ?? null);
    if (user_id === undefined) return all.filter(isAfter);
    const own = await store.channels.list({ user_id, anyOf: null }, 0, livestreamLimits.maxResults);
    const ids = new Set(own.map((channel) => channel.id));
    return all.filter((live) => ids.has(live.channel_id) && isAfter(live));
  };

  app.get(
    "/admin/v1/livestreams/search",
    async ({ query }) => {
      const { limit = livestreamLimits.defaultResults } = query;
      const snapshot = ranking.current();
      const first = [Number.POSITIVE_INFINITY, 0] as const;
      const live = await liveAfter(snapshot, query, positions.positionIn(query) ?? first);
      const { items, pagination } = pageIn(live, limit, ({ viewers, channel_id }) =>
        positions.make([viewers, channel_id], query, null),
      );
      const ids = items.map(({ channel_id }) => channel_id);
      const [channels, details] = await Promise.all([
        store.channels.byIds(ids),
        store.livestreams.byChannels(ids),
      ]);
      const byId = new Map((await withOwners(store, channels)).map((owned) => [owned.entry.id, owned.entry]));
      const described = new Map(details.map((detail) => [detail.channel_id, detail]));
      const data = items.flatMap(({ channel_id, category_id, viewers }) => {
        const [channel, detail] = [byId.get(channel_id), described.get(channel_id)];
        if (!channel || !detail) return [];
        const { title, language, started_at } = detail;
        const category_name = snapshot.category(category_id)?.category.name ?? "";
        return [{ ...channel, viewers, category_id, category_name, title, language, started_at }];
      });
      return { data, pagination, message: "OK" };
    },
    {
      roles: everyRole,
      query: Type.Object({
        category_id: Type.Optional(IdParameter("category", exampleCategory.id)),
        user_id: owner,
        limit: LimitParameter("livestreams", livestreamLimits),
        cursor: positions.parameter,
      }),
      response: { 200: Livestreams },
      detail: {
        operationId: "listLivestreams",
        tags: ["Channels and livestreams"],
        description:
          "Returns livestreams in pages, the most watched first, with their channels and categories. A livestream whose viewers change while pages are read may be missing or be on two of them. Get Livestreams exports all of them in the form that Put Livestreams accepts.",
      },
    },
  );
}

/*
 * The current order of the categories, and who is live in one of them.
 */

const rankedFields = {
  id: about(Id, "Id of the category."),
  name: Type.String({ description: "Name of the category." }),
  viewers: about(Count, "Viewers of all live channels in the category."),
  live_channels: about(Count, "Number of live channels in the category."),
};
const RankedCategorySchema = named(
  "RankedCategory",
  "A category in the order of the public API.",
  rankedFields,
);
const exampleRanked = {
  id: exampleCategory.id,
  name: exampleCategory.name,
  viewers: 184_213,
  live_channels: 96,
};

const Ranked = listOf(RankedCategorySchema, {
  order: "Categories, the most watched first.",
  description: "The categories in the current order of the public API.",
  example: exampleRanked,
});

const LiveChannelSchema = named("RankedChannel", "A live channel.", {
  id: about(Id, "Id of the channel."),
  name: Type.String({ description: "Name of the channel." }),
  user_id: about(Id, "Id of its owner."),
  viewers: about(Count, "Current viewers of the channel."),
});
const LiveCategory = dataOf(
  named("LiveCategory", "A category with its live channels.", {
    ...rankedFields,
    channels: Type.Array(LiveChannelSchema, {
      description: "Up to 100 live channels, the most watched first.",
    }),
  }),
  {
    name: "LiveCategoryAnswer",
    description: "The category.",
    example: {
      ...exampleRanked,
      channels: [
        {
          id: exampleChannel.id,
          name: exampleChannel.name,
          user_id: exampleChannel.user_id,
          viewers: 27_716,
        },
      ],
    },
  },
);

const maxChannels = 100;

const RankingQuery = Type.Object({
  name: Type.Optional(TextParameter(nameFilter)),
  limit: LimitParameter("categories", categoryLimits),
});

/** Returns a category as the lists have it. The viewers may be those of an earlier order. */
function shownCategory(
  { category: { id, name }, viewers }: RankedCategory,
  snapshot: Snapshot,
): Static<typeof RankedCategorySchema> {
  return { id, name, viewers, live_channels: snapshot.liveCount(id) };
}

/** Get the ranking, and the live channels of a category. */
export function rankingRoutes(app: AdminListener, { store, data: { ranking } }: AdminDeps): void {
  app.get(
    "/admin/v1/ranking",
    ({ query: { name = "", limit = categoryLimits.defaultResults } }) => {
      const snapshot = ranking.current();
      const found = firstNamed(fold(name), ranking.walk(snapshot.order, null), limit);
      return { data: found.map((ranked) => shownCategory(ranked, snapshot)), message: "OK" };
    },
    {
      roles: everyRole,
      query: RankingQuery,
      response: { 200: Ranked },
      detail: {
        operationId: "getRanking",
        tags: ["Categories"],
        description: "Returns the first categories in the current order of the public API.",
      },
    },
  );

  app.get(
    "/admin/v1/ranking/:id",
    async ({ params: { id } }) => {
      const snapshot = ranking.current();
      const ranked = snapshot.category(id);
      if (!ranked) throw new DomainError("category_not_found", "There is no category with this id");
      const live = await liveChannels(store, snapshot, id, maxChannels);
      const channels = live.map(({ channel: { id, name, user_id }, viewers }) => ({
        id,
        name,
        user_id,
        viewers,
      }));
      return { data: { ...shownCategory(ranked, snapshot), channels }, message: "OK" };
    },
    {
      roles: everyRole,
      params: Type.Object({ id: IdParameter("category", exampleCategory.id) }),
      response: { 200: LiveCategory },
      errors: ["category_not_found"],
      detail: {
        operationId: "getLiveCategory",
        tags: ["Categories"],
        description: "Returns a category with its live channels, the most watched first.",
      },
    },
  );
}
