import { type Static, Type } from "@sinclair/typebox";
import { categoryLimits } from "../../domain/categories.ts";
import { DomainError } from "../../domain/errors.ts";
import { exampleCategory, exampleChannel, exampleUser } from "../../domain/examples.ts";
import { fold } from "../../domain/text.ts";
import { searchLimits } from "../../domain/users.ts";
import { about, Count, Id } from "../../domain/validation/fields.ts";
import type { RankedCategory } from "../../platform/ranking.ts";
import { dataOf, listOf } from "../http/answers.ts";
import { IdParameter, LimitParameter, named, TextParameter } from "../http/parameters.ts";
import { firstNamed, liveChannels, nameFilter } from "../public/categories.ts";
import { SearchQuery } from "../public/users.ts";
import { type AdminDeps, type AdminListener, everyRole } from "./listener.ts";

/*
 * What operators look for: users by a part of their name, and the current order of the categories.
 */

const FoundUserSchema = named("FoundUser", "A user in search results.", {
  id: about(Id, "Id of the user."),
  username: Type.String({ description: "Username, as the platform spells it." }),
  display_name: Type.String({ description: "Name to display." }),
  is_verified: Type.Boolean({ description: "Whether the platform has verified the user." }),
});

const FoundUsers = listOf(FoundUserSchema, {
  order: "Users, in the order of the public search.",
  description: "The matching users.",
  example: {
    id: exampleUser.id,
    username: exampleUser.username,
    display_name: exampleUser.display_name,
    is_verified: exampleUser.is_verified,
  },
});

const rankedFields = {
  id: about(Id, "Id of the category."),
  name: Type.String({ description: "Name of the category." }),
  viewers: about(Count, "Viewers of all live channels in the category."),
};
const RankedCategorySchema = named(
  "RankedCategory",
  "A category in the order of the public API.",
  rankedFields,
);
const exampleRanked = { id: exampleCategory.id, name: exampleCategory.name, viewers: 184_213 };

const Ranked = listOf(RankedCategorySchema, {
  order: "Categories, the most watched first.",
  description: "The categories in the current order of the public API.",
  example: exampleRanked,
});

const LiveChannelSchema = named("RankedChannel", "A live channel.", {
  id: about(Id, "Id of the channel."),
  name: Type.String({ description: "Name of the channel." }),
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
      channels: [{ id: exampleChannel.id, name: exampleChannel.name, viewers: 27_716 }],
    },
  },
);

const maxChannels = 100;

const RankingQuery = Type.Object({
  name: Type.Optional(TextParameter(nameFilter)),
  limit: LimitParameter("categories", categoryLimits),
});

const shown = ({ category: { id, name }, viewers }: RankedCategory): Static<typeof RankedCategorySchema> => {
  return { id, name, viewers };
};

/** Search users, get the ranking, and get the live channels of a category. */
export function rankingRoutes(app: AdminListener, { store, data: { ranking } }: AdminDeps): void {
  app.get(
    "/admin/v1/users/search",
    async ({ query: { query, limit = searchLimits.defaultResults } }) => {
      const { users } = await store.users.search(query, limit);
      const data = users.map(({ id, username, display_name, is_verified }) => {
        return { id, username, display_name, is_verified };
      });
      return { data, message: "OK" };
    },
    {
      roles: everyRole,
      query: SearchQuery,
      response: { 200: FoundUsers },
      detail: {
        operationId: "searchUsers",
        tags: ["Users"],
        description: "Finds users like the public search.",
      },
    },
  );

  app.get(
    "/admin/v1/ranking",
    ({ query: { name = "", limit = categoryLimits.defaultResults } }) => {
      const found = firstNamed(fold(name), ranking.walk(ranking.current().order, null), limit);
      return { data: found.map(shown), message: "OK" };
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
      const channels = live.map(({ channel: { id, name }, viewers }) => ({ id, name, viewers }));
      return { data: { ...shown(ranked), channels }, message: "OK" };
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
