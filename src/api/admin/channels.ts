import { type Static, Type } from "@sinclair/typebox";
import { exampleCategory, exampleChannel, exampleUser } from "../../domain/examples.ts";
import type { Channel, ChannelFilter } from "../../domain/livestreams.ts";
import type { Store } from "../../domain/store.ts";
import { searchLimits, type User } from "../../domain/users.ts";
import { about, Count, Id, nullable } from "../../domain/validation/fields.ts";
import type { Snapshot } from "../../platform/ranking.ts";
import { pageOf } from "../http/answers.ts";
import { listCursors, pagedList } from "../http/cursors.ts";
import { IdParameter, IsoTimestamp, LimitParameter, named, TextParameter } from "../http/parameters.ts";
import { usersFor } from "../public/users.ts";
import { type AdminDeps, type AdminListener, everyRole } from "./listener.ts";

/*
 * Lists of channels and of livestreams, with what operators want to know of them.
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
    const isAfter = (one: { viewers: number; channel_id: number }) =>
      one.viewers < viewers || (one.viewers === viewers && one.channel_id > id);
    const all = snapshot.liveChannels(category_id ?? null);
    if (user_id === undefined) return all.filter(isAfter);
    const own = await store.channels.list({ user_id, anyOf: null }, 0, livestreamLimits.maxResults);
    const ids = new Set(own.map((channel) => channel.id));
    return all.filter((one) => ids.has(one.channel_id) && isAfter(one));
  };

  app.get(
    "/admin/v1/livestreams/search",
    async ({ query }) => {
      const { limit = livestreamLimits.defaultResults } = query;
      const snapshot = ranking.current();
      const first = [Number.POSITIVE_INFINITY, 0] as const;
      const live = await liveAfter(snapshot, query, positions.positionIn(query) ?? first);
      const page = live.slice(0, limit);
      const ids = page.map(({ channel_id }) => channel_id);
      const [channels, details] = await Promise.all([
        store.channels.byIds(ids),
        store.livestreams.byChannels(ids),
      ]);
      const byId = new Map((await withOwners(store, channels)).map((one) => [one.entry.id, one.entry]));
      const described = new Map(details.map((one) => [one.channel_id, one]));
      const data = page.flatMap(({ channel_id, category_id, viewers }) => {
        const [channel, detail] = [byId.get(channel_id), described.get(channel_id)];
        if (!channel || !detail) return [];
        const { title, language, started_at } = detail;
        const category_name = snapshot.category(category_id)?.category.name ?? "";
        return [{ ...channel, viewers, category_id, category_name, title, language, started_at }];
      });
      const last = page.at(-1);
      const has_more = live.length > limit;
      const cursor = has_more && last ? positions.make([last.viewers, last.channel_id], query, null) : "";
      return { data, pagination: { cursor, has_more }, message: "OK" };
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
