import { type Static, Type } from "@sinclair/typebox";
import { categoryLimits } from "../../domain/categories.ts";
import { DomainError } from "../../domain/errors.ts";
import { exampleCategory, exampleChannel } from "../../domain/examples.ts";
import { fold } from "../../domain/text.ts";
import { about, Count, Id } from "../../domain/validation/fields.ts";
import type { RankedCategory, Snapshot } from "../../platform/ranking.ts";
import { dataOf, listOf } from "../http/answers.ts";
import { IdParameter, LimitParameter, named, TextParameter } from "../http/parameters.ts";
import { firstNamed, liveChannels, nameFilter } from "../public/categories.ts";
import { type AdminDeps, type AdminListener, everyRole } from "./listener.ts";

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
      return { data: found.map((one) => shownCategory(one, snapshot)), message: "OK" };
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
